/**
 * A bot under load: several lanes, each with one action after another. It stops when it is told to, or
 * when the gateway no longer answers.
 */
import { codeOf } from '../../support/api.js';
import type { Chance } from '../chance.js';
import type { AcceptedRequest } from './ledger.js';
import { Operation, type OperationName } from './operation.js';
import { orderFilters, randomSignal } from './random-signal.js';
import type { ExecutionView } from './request-history.js';
import type { Trader } from './trader.js';
import { cancellable } from '../../model/contract-states.js';

const busyActions = {
  submit: 45,
  read: 18,
  cancel: 14,
  cancelAll: 2,
  cancelAfter: 3,
  replay: 8,
  concurrentRetries: 5,
  concurrentDuplicates: 4,
  conflict: 3,
  duplicate: 3,
} as const;

type Action = keyof typeof busyActions;
type Actions = Partial<Readonly<Record<Action, number>>>;

const isCancellable = ({ status, orderRef }: ExecutionView): boolean =>
  orderRef !== null && cancellable.includes(status);
const recentMax = 60;
const pauseMsMax = 20;

export class Bot {
  #isStopped = false;
  #count = 0;
  readonly #recent: AcceptedRequest[] = [];
  /** Each resolves with false when the gateway did not answer. */
  readonly #actions: Readonly<Record<Action, () => Promise<boolean>>> = {
    submit: () => this.submit(),
    read: async () => (await this.trader.read(this.#pick())) !== undefined,
    cancel: () => this.#cancel(),
    cancelAll: () => this.#cancelAll(),
    cancelAfter: () => this.#cancelAfter(),
    replay: () => this.#attempt(this.#pick().operation),
    concurrentRetries: () => {
      const operation = this.#newSignal();
      return this.#attemptAll([operation, operation]);
    },
    concurrentDuplicates: () => {
      const signalId = this.#nextName('duplicate');
      return this.#attemptAll([this.#newSignal(signalId), this.#newSignal(signalId)]);
    },
    conflict: () => this.#conflict(),
    duplicate: () => this.#attempt(this.#newSignal(this.#pick().operation.name.subject)),
  };

  constructor(
    readonly trader: Trader,
    readonly chance: Chance,
    readonly actions: Actions,
    readonly lanes: number,
  ) {}

  async run(): Promise<void> {
    this.#isStopped = false;
    await Promise.all(Array.from({ length: this.lanes }, () => this.#lane()));
  }

  stop(): void {
    this.#isStopped = true;
  }

  /** Sends a new signal under a new key. @returns whether it was answered. */
  submit(): Promise<boolean> {
    return this.#attempt(this.#newSignal());
  }

  async #lane(): Promise<void> {
    while (!this.#isStopped) {
      const action = this.chance.weigh(this.actions as Record<Action, number>);
      const isPossible = action === 'submit' || this.#recent.length > 0;
      const isAnswered = await this.#actions[isPossible ? action : 'submit']();
      if (!isAnswered) return;
      await new Promise((resolve) => setTimeout(resolve, this.chance.between(0, pauseMsMax)));
    }
  }

  async #cancel(): Promise<boolean> {
    const request = this.#recent.findLast(({ history }) =>
      history.last?.executions.some(isCancellable),
    );
    const order = request?.history.last?.executions.find(isCancellable);
    if (request === undefined || order === undefined || this.chance.happens(0.3)) {
      return (await this.trader.read(this.#pick())) !== undefined;
    }
    const orderRef = order.orderRef as string;
    const path = `/api/v1/orders/${orderRef}/cancel`;
    const operation = this.#newOperation({ kind: 'cancel', path, body: '', subject: orderRef });
    const isAnswered = await this.#attempt(operation);
    return isAnswered && (await this.trader.read(request)) !== undefined;
  }

  async #cancelAll(): Promise<boolean> {
    const filter = this.chance.pick(orderFilters);
    const path = '/api/v1/orders/cancel-all';
    const body = filter === undefined ? '' : JSON.stringify(filter);
    const operation = this.#newOperation({ kind: 'cancel-all', path, body, subject: '' });
    const isAnswered = await this.#attempt(operation);
    return isAnswered && (await this.trader.read(this.#pick())) !== undefined;
  }

  #cancelAfter(): Promise<boolean> {
    const { key, submitKey } = this.trader;
    const timeoutMs = this.chance.happens(0.2) ? 0 : this.chance.between(5_000, 7_000);
    return this.trader.setSwitch(this.chance.happens(0.5) ? key : submitKey, timeoutMs);
  }

  /** Sends another body under a used Idempotency-Key. */
  async #conflict(): Promise<boolean> {
    const { key, path } = this.#pick().operation.name;
    const { body } = randomSignal(this.chance, this.#nextName('conflict'));
    const answer = await this.trader.post(path, key, body);
    if (answer === undefined) return false;
    const { verdict, conditions } = this.trader.ledger;
    const code = codeOf(answer);
    const isRefused =
      code === 'idempotency_conflict' || (conditions.isDraining && code === 'shutting_down');
    verdict.hold('a key is bound to one body', isRefused, () => ({ key, body, text: answer.text }));
    return true;
  }

  async #attemptAll(operations: readonly Operation[]): Promise<boolean> {
    const answers = await Promise.all(operations.map((operation) => this.#attempt(operation)));
    return answers.every(Boolean);
  }

  async #attempt(operation: Operation): Promise<boolean> {
    const wasAccepted = operation.accepted !== undefined;
    const answer = await this.trader.attempt(operation);
    const { ledger } = this.trader;
    const request = ledger.requests.get(operation.fields?.requestId);
    if (!wasAccepted && request !== undefined && operation.name.kind === 'signal') {
      this.#recent.push(request);
      if (this.#recent.length > recentMax) this.#recent.shift();
    }
    return answer !== undefined;
  }

  #newSignal(signalId = this.#nextName('signal')): Operation {
    const { expiresAt, body } = randomSignal(this.chance, signalId);
    const path = '/api/v1/signals';
    return this.#newOperation({ kind: 'signal', path, body, subject: signalId, expiresAt });
  }

  #newOperation(
    name: Omit<OperationName, 'user' | 'key' | 'expiresAt'> & { readonly expiresAt?: number },
  ): Operation {
    const key = this.#nextName('key');
    const operation = new Operation({
      user: this.trader.email,
      key,
      expiresAt: Infinity,
      ...name,
    });
    return this.trader.ledger.add(operation);
  }

  #pick(): AcceptedRequest {
    return this.chance.pick(this.#recent);
  }

  #nextName(kind: string): string {
    return `${this.chance.name}-${kind}-${++this.#count}`;
  }
}

/** All actions, in four lanes. */
export function createBusyBot(trader: Trader, chance: Chance): Bot {
  return new Bot(trader, chance, busyActions, 4);
}

/** Only submits, in few lanes, so that a small daily limit is not used up before the fault. */
export function createPlainBot(trader: Trader, chance: Chance): Bot {
  return new Bot(trader, chance, { submit: 1 }, 3);
}
