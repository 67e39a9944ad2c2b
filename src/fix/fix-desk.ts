/**
 * Turns the gateway's commands into messages to the venue, and takes the venue's answers. Notes an order before it
 * leaves, and never sends it twice. Asks the venue about an order in doubt, and reports nothing of it meanwhile.
 * Owns the cancels that wait for a session; the journals and the doubts own the rest.
 */
import type { Clock } from '../lib/clock.js';
import { minuteMs } from '../lib/durations.js';
import { isFinal } from '../model/execution.js';
import { unknownOrder } from '../terminal/journal-state.js';
import type {
  CancelRequest,
  Doubt,
  KnownExecution,
  Plugin,
  SubmitFrame,
} from '../terminal/plugin.js';
import type { CommandFault } from '../plugins/commands.js';
import { cancelOutcomes } from './execution-report.js';
import { askAfterMs, askLaterMs, Doubts, firstAsks } from './doubts.js';
import type { FixJournal, SentCancel, SentOrder } from './fix-journal.js';
import { valueOf, type Field, type FixMessage, type ReceivedMessage } from './message.js';
import {
  cancelRequest,
  clOrdIdOf,
  newOrder,
  statusRequest,
  type OrderRules,
} from './order-message.js';
import { tags, types } from './tags.js';
import { VenueAnswers } from './venue-answers.js';

export interface FixDeskOptions {
  readonly plugin: Pick<Plugin, 'known' | 'hasExpired' | 'report' | 'cancelReport'>;
  /** Tells people what they have to look at. */
  readonly warn: (text: string, executionId?: string) => void;
  readonly journal: FixJournal;
  readonly rules: OrderRules;
  readonly clock: Clock;
  readonly session: {
    readonly isLoggedOn: boolean;
    /** @returns the message's number. */
    send(type: string, fields: readonly Field[]): number;
  };
}

export class FixDesk {
  readonly #options: FixDeskOptions;
  readonly #doubts: Doubts;
  readonly #answers: VenueAnswers;
  /** Cancels that were requested while there was no session. */
  readonly #waiting: CancelRequest[] = [];

  constructor(options: FixDeskOptions) {
    this.#options = options;
    this.#doubts = new Doubts(options.clock);
    this.#answers = new VenueAnswers({ ...options, doubts: this.#doubts });
  }

  received(message: ReceivedMessage): void {
    this.#answers.received(message);
  }

  submit(command: SubmitFrame): void {
    const { journal, rules, clock, session } = this.#options;
    const { executionId, signalType, cmd, payload } = command;
    if (`${signalType}/${cmd}` !== 'order/submit') {
      const text = 'This terminal knows order/submit.';
      return this.#refuse(executionId, { reasonCode: 'unknown_command', text });
    }
    const clOrdId = clOrdIdOf(executionId, rules.venue.clOrdIdLengthMax);
    // An earlier process may have sent the order; the plugin's journal was lost since.
    if (journal.order(clOrdId) !== undefined) return this.#doubts.add(clOrdId, 0);
    const order = newOrder(payload, clOrdId, rules, clock.now());
    if ('reasonCode' in order) return this.#refuse(executionId, order);
    if (!session.isLoggedOn) {
      const text = 'There is no FIX session with the venue: the order was not sent.';
      return this.#refuse(executionId, { reasonCode: 'terminal_not_connected_to_broker', text });
    }
    const { fields, ...called } = order;
    const seq = session.send(types.NewOrderSingle, fields);
    journal.noteOrder({ executionId, clOrdId, seq, life: journal.life, ...called });
    this.#doubts.add(clOrdId, askAfterMs);
  }

  /** Ends an order that has expired while it was made durable. @returns whether the message may leave. */
  mayLeave(message: FixMessage): boolean {
    const { journal, plugin } = this.#options;
    if (message.type !== types.NewOrderSingle) return true;
    const order = journal.order(valueOf(message, tags.ClOrdID) ?? '');
    if (order === undefined || !plugin.hasExpired(order.executionId)) return true;
    plugin.report(order.executionId, { status: 'expired', reasonCode: 'ttl_expired' });
    return false;
  }

  /** Decides on a command of an earlier process: it may have left if it is noted, or if the note may be lost. */
  inDoubt({ executionId }: SubmitFrame): Doubt {
    const { journal, plugin } = this.#options;
    if (journal.orderOf(executionId) !== undefined) return undefined;
    const storedAt = plugin.known(executionId)?.updatedAt ?? 0;
    return storedAt >= journal.begunAt ? 'execute' : this.#lost(executionId);
  }

  /** Reports as unknown the open orders of an earlier process whose notes were lost with the file. */
  restore(executions: readonly KnownExecution[]): void {
    const { journal, plugin } = this.#options;
    for (const { executionId, status } of executions) {
      const isFollowed = isFinal(status) || journal.orderOf(executionId) !== undefined;
      if (!isFollowed) plugin.report(executionId, this.#lost(executionId));
    }
  }

  #lost(executionId: string) {
    const clOrdId = clOrdIdOf(executionId, this.#options.rules.venue.clOrdIdLengthMax);
    const text = `The journal of the FIX session begins after this order. Ask the venue for ClOrdID ${clOrdId}.`;
    return { status: 'unknown', native: { text } } as const;
  }

  cancel(request: CancelRequest): void {
    const { journal, plugin, rules, session, clock } = this.#options;
    const { cancelRequestId, executionId } = request;
    const order = journal.orderOf(executionId);
    const known = plugin.known(executionId);
    if (order === undefined) {
      // If the order's note was lost, so was that of a cancel that an earlier process may have sent.
      const isLost = known?.status === 'unknown';
      return plugin.cancelReport(cancelRequestId, isLost ? this.#lost(executionId) : unknownOrder);
    }
    const ended = known && cancelOutcomes[known.status];
    if (ended !== undefined) return plugin.cancelReport(cancelRequestId, ended);
    const clOrdId = clOrdIdOf(cancelRequestId, rules.venue.clOrdIdLengthMax);
    // An earlier process may have sent this cancel: the order's status will tell its outcome.
    if (journal.cancelled(clOrdId) !== undefined) return this.#doubts.add(order.clOrdId, 0);
    if (!session.isLoggedOn) return void this.#waiting.push(request);
    const fields = cancelRequest(order, clOrdId, known?.native?.orderId, rules, clock.now());
    const seq = session.send(types.OrderCancelRequest, fields);
    journal.noteCancel({ cancelRequestId, executionId, clOrdId, seq, life: journal.life });
    this.#doubts.add(order.clOrdId, askAfterMs);
  }

  /** Sends the cancels that waited for a session; the next ticks ask for what an earlier one has left open. */
  loggedOn(): void {
    this.#askForAll();
    for (const request of this.#waiting.splice(0)) this.cancel(request);
  }

  /** The venue has not taken the messages with these numbers: asks for the orders that they were about. */
  missed(from: number, to: number): void {
    const { journal } = this.#options;
    const isMissed = (seq: number): boolean => seq >= from && seq <= to;
    const isSentNow = ({ seq, life }: SentOrder | SentCancel): boolean =>
      life === journal.life && isMissed(seq);
    this.#doubts.missed(isMissed);
    for (const { executionId } of [...journal.orders(), ...journal.cancels()].filter(isSentNow)) {
      this.#doubts.add((journal.orderOf(executionId) as SentOrder).clOrdId, 0);
    }
  }

  /**
   * A message of the venue was not read and never comes again: asks for the orders that it names, or for all orders
   * if it passes over other messages. Without a session the next logon asks for all.
   */
  unread(message: ReceivedMessage): void {
    const { journal, session } = this.#options;
    if (!session.isLoggedOn) return;
    // A reset loses the questions along with the reports.
    if (message.type === types.Logon) return this.#askForAll();
    const orders =
      message.type === types.SequenceReset ? journal.orders() : this.#answers.ordersOf(message);
    for (const { clOrdId } of orders) this.#doubts.suspect(clOrdId);
  }

  #askForAll(): void {
    this.#doubts.forgetQuestions();
    for (const { clOrdId } of this.#options.journal.orders()) this.#doubts.add(clOrdId, 0);
  }

  /** To be called about once a second. */
  tick(): void {
    const { journal, rules, session } = this.#options;
    if (!session.isLoggedOn) return;
    const isOpen = (clOrdId: string): boolean =>
      this.#answers.isOpen(journal.order(clOrdId)?.executionId ?? '');
    for (const { clOrdId, isToBeTold } of this.#doubts.due(isOpen)) {
      const order = journal.order(clOrdId) as SentOrder;
      if (isToBeTold) this.#tellOfDoubt(order);
      if (rules.venue.statusRequest) this.#ask(order);
      else this.#answers.noAnswer(order, 'This venue answers no status requests.');
    }
  }

  #tellOfDoubt({ clOrdId, executionId }: SentOrder): void {
    const text =
      `After ${firstAsks} questions to the venue the state of this order is not certain. Ask the venue for ClOrdID ` +
      `${clOrdId}. The terminal asks again every ${askLaterMs / minuteMs} minutes.`;
    this.#options.warn(text, executionId);
  }

  #ask(order: SentOrder): void {
    const { plugin, rules, session } = this.#options;
    const orderId = plugin.known(order.executionId)?.native?.orderId;
    const seq = session.send(types.OrderStatusRequest, statusRequest(order, orderId, rules));
    this.#doubts.noteAsked(seq, order.clOrdId);
  }

  #refuse(executionId: string, { reasonCode, text }: CommandFault): void {
    const native = { state: 'Rejected', text };
    this.#options.plugin.report(executionId, { status: 'rejected', reasonCode, native });
  }
}
