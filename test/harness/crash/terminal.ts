/**
 * A terminal with a memory that outlives the gateway: carries out each execution once, however often
 * it is sent, and answers in one of many manners. Owns its orders and what it holds back.
 */
import type { Chance } from '../chance.js';
import type { Observation, TerminalPlace } from './observation.js';
import { Order } from './order.js';
import { cancelManners, planSteps, type Step } from './terminal-behaviour.js';
import type { Pulse } from './event-loop-delay.js';
import { TerminalLink, type Frame } from './terminal-connection.js';

const knownMax = 100;

export class Terminal {
  readonly #orders = new Map<string, Order>();
  readonly #cancels = new Set<string>();
  readonly #held = new Map<NodeJS.Timeout, () => void>();
  readonly #link: TerminalLink;
  #isCalm = true;

  constructor(
    readonly place: TerminalPlace,
    readonly chance: Chance,
    readonly pulse: Pulse,
    record: (observation: Observation) => void,
  ) {
    this.#link = new TerminalLink({
      place,
      chance: chance.child('link'),
      observe: (connection, deed) =>
        record({ at: Date.now(), terminal: place.id, connection, ...deed }),
      known: () => this.#known(),
      onFrame: (frame) => (frame.type === 'submit' ? this.#submit(frame) : this.#cancel(frame)),
    });
  }

  /** What keeps it from rest, or undefined. */
  get unrest(): string | undefined {
    const held = this.#held.size > 0 ? `${this.#held.size} answers held back` : undefined;
    const unrest = held ?? this.#link.unrest;
    return unrest === undefined ? undefined : `${this.place.id}: ${unrest}`;
  }

  go(url: string): void {
    this.#link.go(url);
  }

  storm(): void {
    this.#isCalm = false;
    this.#link.isRestless = true;
  }

  /** Says at once all that it holds back; some of the orders that rest are filled. */
  calm(): void {
    this.#isCalm = true;
    this.#link.isRestless = false;
    for (const [timer, task] of this.#held) {
      clearTimeout(timer);
      this.#held.delete(timer);
      task();
    }
    for (const order of this.#orders.values()) {
      if (order.status === 'working' && this.chance.happens(0.3) && order.fillUp()) {
        this.#report(order);
      }
    }
  }

  /** As a plugin that was behind: what has moved on since is still called working. */
  #known(): { executionId: string; status: string }[] {
    return [...this.#orders.values()]
      .filter(({ status }) => status !== 'new')
      .slice(-knownMax)
      .map(({ executionId }) => ({ executionId, status: 'working' }));
  }

  #submit(frame: Frame): void {
    const executionId = frame['executionId'] as string;
    this.#link.observe({
      kind: 'submit',
      executionId,
      requestId: frame['requestId'],
      signalId: frame['signalId'],
      orderRef: frame['orderRef'],
      expiresAt: frame['expiresAt'],
      payload: frame['payload'],
      unreadMs: this.pulse.unreadMs(),
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

  /** One step after the other: what was said never goes back. */
  #carryOut(order: Order, [step, ...rest]: readonly Step[]): void {
    if (step === undefined) return;
    this.#later(step.pauseMs, () => {
      if (step.say === 'ack') this.#acknowledge(order);
      else if (order.move(step.say, step.fills)) {
        this.#report(order);
        if (step.isTwice) this.#report(order);
        if (this.chance.happens(0.05)) this.tellBalance();
      }
      this.#carryOut(order, rest);
    });
  }

  #cancel(frame: Frame): void {
    const cancelRequestId = frame['cancelRequestId'] as string;
    const executionId = frame['executionId'] as string;
    this.#link.observe({ kind: 'cancel', cancelRequestId, executionId });
    if (this.#cancels.has(cancelRequestId)) return;
    this.#cancels.add(cancelRequestId);
    const manner = this.chance.weigh(cancelManners);
    if (manner === 'saysNothing') return;
    const end = (status: string): void => this.#reportCancel(executionId, cancelRequestId, status);
    this.#later(this.chance.happens(0.1) ? 1_500 : this.chance.between(0, 25), () => {
      if (this.chance.happens(0.5)) {
        this.#link.say({ type: 'ack', cancelRequestId }, { kind: 'ack', cancelRequestId });
      }
      const order = this.#orders.get(executionId);
      if (order === undefined) return end('rejected');
      if (order.isOver) return end(order.status === 'filled' ? 'too_late' : 'rejected');
      if (manner === 'refuses') return end('rejected');
      if (manner === 'cancels' && order.move('cancelled')) return end('cancelled');
      if (manner === 'fillsFirst' ? order.fillUp() : order.move('cancelled')) this.#report(order);
    });
  }

  #acknowledge(order: Order): void {
    const { executionId } = order;
    order.isAcknowledged = true;
    this.#link.say({ type: 'ack', executionId }, { kind: 'ack', executionId });
  }

  /** Tells how the order stands, with its newest fill: said twice, that fill is still one. */
  #report({ executionId, status, fills, filledQuantity }: Order): void {
    const fill = fills.at(-1);
    const said = { executionId, status, filledQuantity };
    this.#link.report(
      (seq) => ({ type: 'report', seq, ...said, ...(fill === undefined ? {} : { fill }) }),
      (seq, sent) => ({ kind: 'report', seq, ...said, fillId: fill?.fillId, sent }),
    );
  }

  /** An event shares the numbers of the reports. */
  tellBalance(): void {
    this.#link.report(
      (seq) => ({ type: 'event', seq, event: 'account_update', data: { balance: seq } }),
      (seq, sent) => ({ kind: 'event', seq, sent }),
    );
  }

  #reportCancel(executionId: string, cancelRequestId: string, status: string): void {
    this.#link.report(
      (seq) => ({ type: 'cancel_report', seq, cancelRequestId, status }),
      (seq, sent) => ({ kind: 'cancel_report', seq, executionId, cancelRequestId, status, sent }),
    );
  }

  #later(delayMs: number, task: () => void): void {
    const timer = setTimeout(
      () => {
        this.#held.delete(timer);
        task();
      },
      this.#isCalm ? 0 : delayMs,
    );
    this.#held.set(timer, task);
  }
}
