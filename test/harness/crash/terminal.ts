/**
 * A simulated terminal whose state outlives the gateway: it executes each submit once, however often it
 * is sent, and answers with one of several behaviours. Owns its orders and its delayed answers.
 */
import type { Chance } from '../chance.js';
import type { Observation, TerminalIdentity } from './observation.js';
import { Order } from './order.js';
import { cancelBehaviours, planSteps, type Step } from './terminal-behaviour.js';
import type { EventLoopDelay } from './event-loop-delay.js';
import type { Frame } from '../../support/plugin.js';
import { TerminalConnection } from './terminal-connection.js';

const knownMax = 100;

export class Terminal {
  readonly #orders = new Map<string, Order>();
  readonly #cancels = new Set<string>();
  readonly #delayed = new Map<NodeJS.Timeout, () => void>();
  readonly #connection: TerminalConnection;
  #isIdle = true;

  constructor(
    readonly identity: TerminalIdentity,
    readonly chance: Chance,
    readonly loopDelay: EventLoopDelay,
    record: (observation: Observation) => void,
  ) {
    this.#connection = new TerminalConnection({
      identity,
      chance: chance.child('connection'),
      observe: (connection, details) =>
        record({ at: Date.now(), terminal: identity.id, connection, ...details }),
      known: () => this.#known(),
      onFrame: (frame) => (frame.type === 'submit' ? this.#submit(frame) : this.#cancel(frame)),
    });
  }

  /** What the terminal waits for; undefined if it waits for nothing. */
  get pendingWork(): string | undefined {
    const delayed = this.#delayed.size > 0 ? `${this.#delayed.size} delayed answers` : undefined;
    const pendingWork = delayed ?? this.#connection.pendingWork;
    return pendingWork === undefined ? undefined : `${this.identity.id}: ${pendingWork}`;
  }

  connectTo(url: string): void {
    this.#connection.connectTo(url);
  }

  startLoad(): void {
    this.#isIdle = false;
    this.#connection.cutsConnections = true;
  }

  /** Sends all delayed answers at once, and fills some of the working orders. */
  waitUntilIdle(): void {
    this.#isIdle = true;
    this.#connection.cutsConnections = false;
    for (const [timer, task] of this.#delayed) {
      clearTimeout(timer);
      this.#delayed.delete(timer);
      task();
    }
    for (const order of this.#orders.values()) {
      if (order.status === 'working' && this.chance.happens(0.3) && order.fillUp()) {
        this.#report(order);
      }
    }
  }

  /** Reports every execution as working, whatever its status: outdated on purpose. */
  #known(): { executionId: string; status: string }[] {
    return [...this.#orders.values()]
      .filter(({ status }) => status !== 'new')
      .slice(-knownMax)
      .map(({ executionId }) => ({ executionId, status: 'working' }));
  }

  #submit(frame: Frame): void {
    const executionId = frame['executionId'] as string;
    this.#connection.observe({
      kind: 'submit',
      executionId,
      requestId: frame['requestId'],
      signalId: frame['signalId'],
      orderRef: frame['orderRef'],
      expiresAt: frame['expiresAt'],
      payload: frame['payload'],
      unreadMs: this.loopDelay.unreadMs(),
    });
    const known = this.#orders.get(executionId);
    if (known !== undefined) {
      if (known.isAcknowledged) this.#acknowledge(known);
      return;
    }
    const quantity = frame['signalType'] === 'order' ? (frame['payload'].quantity as number) : 0;
    const order = new Order(executionId, quantity);
    this.#orders.set(executionId, order);
    this.#carryOut(order, planSteps(this.chance, quantity));
  }

  /** Runs the steps one after another, so that reports keep their order. */
  #carryOut(order: Order, [step, ...rest]: readonly Step[]): void {
    if (step === undefined) return;
    this.#later(step.pauseMs, () => {
      if (step.say === 'ack') this.#acknowledge(order);
      else if (order.move(step.say, step.fills)) {
        this.#report(order);
        if (step.isTwice) this.#report(order);
        if (this.chance.happens(0.05)) this.sendBalance();
      }
      this.#carryOut(order, rest);
    });
  }

  #cancel(frame: Frame): void {
    const cancelRequestId = frame['cancelRequestId'] as string;
    const executionId = frame['executionId'] as string;
    this.#connection.observe({ kind: 'cancel', cancelRequestId, executionId });
    if (this.#cancels.has(cancelRequestId)) return;
    this.#cancels.add(cancelRequestId);
    const behaviour = this.chance.weigh(cancelBehaviours);
    if (behaviour === 'saysNothing') return;
    const end = (status: string): void => this.#reportCancel(executionId, cancelRequestId, status);
    this.#later(this.chance.happens(0.1) ? 1_500 : this.chance.between(0, 25), () => {
      if (this.chance.happens(0.5)) {
        this.#connection.say({ type: 'ack', cancelRequestId }, { kind: 'ack', cancelRequestId });
      }
      const order = this.#orders.get(executionId);
      if (order === undefined) return end('rejected');
      if (order.isOver) return end(order.status === 'filled' ? 'too_late' : 'rejected');
      if (behaviour === 'refuses') return end('rejected');
      if (behaviour === 'cancels' && order.move('cancelled')) return end('cancelled');
      if (behaviour === 'fillsFirst' ? order.fillUp() : order.move('cancelled'))
        this.#report(order);
    });
  }

  #acknowledge(order: Order): void {
    const { executionId } = order;
    order.isAcknowledged = true;
    this.#connection.say({ type: 'ack', executionId }, { kind: 'ack', executionId });
  }

  /** Reports the order's state with its newest fill; a repeated report has the same fillId. */
  #report({ executionId, status, fills, filledQuantity }: Order): void {
    const fill = fills.at(-1);
    const said = { executionId, status, filledQuantity };
    this.#connection.report(
      { type: 'report', ...said, ...(fill === undefined ? {} : { fill }) },
      (seq, sent) => ({ kind: 'report', seq, ...said, fillId: fill?.fillId, sent }),
    );
  }

  /** Events and reports share their numbers. */
  sendBalance(): void {
    this.#connection.report(
      { type: 'event', event: 'account_update', data: { balance: this.#connection.nextSeq } },
      (seq, sent) => ({ kind: 'event', seq, sent }),
    );
  }

  #reportCancel(executionId: string, cancelRequestId: string, status: string): void {
    this.#connection.report({ type: 'cancel_report', cancelRequestId, status }, (seq, sent) => ({
      kind: 'cancel_report',
      seq,
      executionId,
      cancelRequestId,
      status,
      sent,
    }));
  }

  #later(delayMs: number, task: () => void): void {
    const timer = setTimeout(
      () => {
        this.#delayed.delete(timer);
        task();
      },
      this.#isIdle ? 0 : delayMs,
    );
    this.#delayed.set(timer, task);
  }
}
