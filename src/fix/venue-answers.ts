/**
 * Reads the venue's reports on orders and its refusals of our messages. Owns nothing: what it learns goes into the
 * journals and ends doubts.
 */
import type { Clock } from '../lib/clock.js';
import { withoutUndefined } from '../lib/without-undefined.js';
import type { CancelEvidence, Plugin } from '../terminal/plugin.js';
import { askAgainMs, type Doubts } from './doubts.js';
import {
  cancelOutcomes,
  cancelRejection,
  heldAs,
  isDefinitive,
  isStatusAnswer,
  isTrade,
  readReport,
} from './execution-report.js';
import { fromFixTime } from './fix-time.js';
import type { FixJournal, NamedCancel, SentCancel, SentOrder } from './fix-journal.js';
import { numberOf, valueOf, type ReceivedMessage } from './message.js';
import { tags, types } from './tags.js';

export interface VenueAnswersOptions {
  readonly plugin: Pick<Plugin, 'known' | 'report' | 'cancelReport'>;
  readonly warn: (text: string, executionId?: string) => void;
  readonly journal: FixJournal;
  readonly doubts: Doubts;
  readonly clock: Clock;
}

/** Messages of ours that a venue may refuse, by RefMsgType (372). A question has the ClOrdID of its order. */
type Refusable = 'order' | 'cancel' | 'question';
const refusable: Readonly<Record<string, Refusable>> = {
  [types.NewOrderSingle]: 'order',
  [types.OrderCancelRequest]: 'cancel',
  [types.OrderStatusRequest]: 'question',
};

export class VenueAnswers {
  readonly #options: VenueAnswersOptions;

  constructor(options: VenueAnswersOptions) {
    this.#options = options;
  }

  /** Whether evidence may still come on an order. */
  isOpen(executionId: string): boolean {
    const known = this.#options.plugin.known(executionId);
    return known !== undefined && !isDefinitive(known);
  }

  received(message: ReceivedMessage): void {
    switch (message.type) {
      case types.ExecutionReport:
        return this.#onReport(message);
      case types.OrderCancelReject:
        return this.#onCancelReject(message);
      default:
        this.#onReject(message);
    }
  }

  #onReport(message: ReceivedMessage): void {
    const { journal, plugin, clock, doubts } = this.#options;
    const [order] = this.ordersOf(message);
    if (order === undefined)
      return this.#say('The venue reports on an order that this terminal does not know.', message);
    const { executionId, clOrdId } = order;
    const cancels = journal.cancelsOf(executionId);
    const known = plugin.known(executionId);
    if (known === undefined)
      return this.#say('The venue reports on an order that the journal no longer holds.', message);
    const nowMs = clock.now();
    const isCancelAsked = (): boolean =>
      journal.cancelled(valueOf(message, tags.ClOrdID) ?? '') !== undefined ||
      journal.mayBeCancelled(executionId);
    const read = readReport(message, { order, known, isCancelAsked, nowMs });
    const { evidence, isUndo, isForgotten, isCancelPending, isTaken, isRevived } = read;
    if (isTaken) journal.noteTaken(order);
    if (isUndo) {
      this.#say(
        'The venue takes back or corrects a trade: check the position and the order.',
        message,
        executionId,
      );
      doubts.suspect(clOrdId);
    }
    if (isRevived) {
      this.#say(
        'The venue holds an order that it had rejected: check the order at the venue.',
        message,
        executionId,
      );
    }
    if (evidence !== undefined) plugin.report(executionId, evidence);
    const ended = cancelOutcomes[plugin.known(executionId)?.status ?? 'working'];
    const askedBy = isStatusAnswer(message) ? doubts.takeAnswered(clOrdId) : undefined;
    for (const cancel of cancels) {
      if (ended !== undefined) this.#settle(cancel, ended);
      else if (isForgotten) this.#doubtCancel(cancel);
      else this.#afterReport(cancel, order, isCancelPending, askedBy);
    }
    // A doubt stays after PendingNew (not decided yet), while a cancel is open, and after a report that may be old.
    const isCancelOpen = !isForgotten && journal.cancelsOf(executionId).length > 0;
    const isResent = valueOf(message, tags.PossResend) === 'Y';
    const isFresh = (evidence !== undefined || isForgotten) && !isResent;
    const isAnswer = isFresh || askedBy !== undefined;
    if (isAnswer && evidence?.status !== 'submitted' && !isCancelOpen) doubts.delete(clOrdId);
  }

  #doubtCancel({ cancelRequestId, clOrdId }: SentCancel): void {
    const text = `The venue does not know the order any more. Ask it for ClOrdID ${clOrdId}.`;
    this.#options.plugin.cancelReport(cancelRequestId, { status: 'unknown', native: { text } });
  }

  /**
   * What a report on an order that rests says about a cancel of it.
   * @param askedBy number of the question that the report answers, if any.
   */
  #afterReport(cancel: SentCancel, order: SentOrder, isPending: boolean, askedBy?: number): void {
    const { journal, plugin, doubts } = this.#options;
    const isAnswered =
      askedBy !== undefined && (cancel.life !== journal.life || cancel.seq < askedBy);
    if (isAnswered && !isPending) {
      // The cancel may also be on its way within the venue: the order's end then ends it at the gateway.
      const text =
        'The venue holds the order and does not mention its cancel. If the order stays open, cancel it again.';
      return this.#settle(cancel, { status: 'unknown', native: { text } });
    }
    if (!isPending) return;
    plugin.cancelReport(cancel.cancelRequestId, { status: 'pending' });
    doubts.add(order.clOrdId, askAgainMs);
  }

  #onCancelReject(message: ReceivedMessage): void {
    const { journal } = this.#options;
    const [order] = this.ordersOf(message);
    if (order !== undefined && heldAs(message) !== undefined) journal.noteTaken(order);
    const cancel = journal.unanswered(valueOf(message, tags.ClOrdID) ?? '');
    // The end of the order has ended its cancel, too.
    if (cancel === undefined || !this.isOpen(cancel.executionId)) return;
    this.#settle(cancel, cancelRejection(message));
  }

  /** Reject and BusinessMessageReject, which refer to a message of ours by its type, its number or its ClOrdID. */
  #onReject(message: ReceivedMessage): void {
    const { journal, plugin, doubts } = this.#options;
    const refType = valueOf(message, tags.RefMsgType);
    const seq = numberOf(message, tags.RefSeqNum);
    const refId = valueOf(message, tags.BusinessRejectRefID) ?? '';
    const mayBe = (kind: Refusable): boolean =>
      refType === undefined || refusable[refType] === kind;
    const isNumbered = (sent: SentOrder | SentCancel): boolean =>
      sent.seq === seq && sent.life === journal.life;
    // Without a type the ClOrdID may be a question's: it is beside another number, or once the order was reported.
    const isNamed = ({ clOrdId, executionId }: SentOrder): boolean =>
      clOrdId === refId &&
      (refType !== undefined ||
        (seq === undefined && plugin.known(executionId)?.isReported !== true));
    const text = valueOf(message, tags.Text) ?? 'no reason given';
    const code =
      valueOf(message, tags.BusinessRejectReason) ?? valueOf(message, tags.SessionRejectReason);
    const native = withoutUndefined({ text, code });
    // A question of an earlier process is known by the ClOrdID of its order alone.
    const asked = doubts.askedBy(seq ?? 0) ?? (refType === undefined ? '' : refId);
    const askedFor = mayBe('question') ? journal.order(asked) : undefined;
    // The plugin takes no report on an order that has left its journal.
    if (askedFor !== undefined && plugin.known(askedFor.executionId) !== undefined) {
      return this.noAnswer(
        askedFor,
        `The venue does not report the status of the order (${text}).`,
      );
    }
    const order = mayBe('order')
      ? journal.orders().findLast((sent) => isNumbered(sent) || isNamed(sent))
      : undefined;
    if (order !== undefined && this.isOpen(order.executionId)) {
      return plugin.report(order.executionId, {
        status: 'rejected',
        reasonCode: 'broker_rejected',
        native: { state: 'Rejected', ...native },
      });
    }
    const cancel = mayBe('cancel')
      ? (journal.cancels().find(isNumbered) ?? journal.unanswered(refId))
      : undefined;
    if (cancel === undefined || !this.isOpen(cancel.executionId))
      return this.#say(`The venue refuses a message: ${text}`, message);
    this.#settle(cancel, { status: 'rejected', reasonCode: 'unable_to_cancel', native });
  }

  /** The venue will not tell: reports the order as unknown, unless it was reported before, and its open cancels. */
  noAnswer({ executionId, clOrdId }: SentOrder, text: string): void {
    const { plugin, journal } = this.#options;
    this.#options.doubts.delete(clOrdId);
    const ask = `${text} Ask the venue for ClOrdID ${clOrdId}.`;
    if (plugin.known(executionId)?.isReported !== true) {
      plugin.report(executionId, { status: 'unknown', native: { text: ask } });
    }
    for (const cancel of journal.cancelsOf(executionId)) {
      plugin.cancelReport(cancel.cancelRequestId, { status: 'unknown', native: { text: ask } });
    }
  }

  #settle(cancel: NamedCancel, evidence: CancelEvidence): void {
    this.#options.plugin.cancelReport(cancel.cancelRequestId, evidence);
    this.#options.journal.noteSettled(cancel, evidence.status === 'unknown');
  }

  /** @returns the orders that the message names, by ClOrdIDs of theirs or of cancels; a bad one may name several. */
  ordersOf(message: ReceivedMessage): SentOrder[] {
    const { journal } = this.#options;
    const named = [tags.ClOrdID, tags.OrigClOrdID]
      .flatMap((tag) => message.fields.filter(([known]) => known === tag))
      .map(([, id]) => journal.order(id) ?? journal.orderOf(journal.cancelled(id) ?? ''))
      .filter((order) => order !== undefined);
    return named.length > 0 ? named : this.#numbered(message);
  }

  /**
   * @returns the orders with the message's OrderID, latest first: one that was changed at the venue goes on under a
   * ClOrdID that is not ours. Some venues begin OrderIDs anew each day, or count them by instrument: instrument
   * and side must match, and an order that has ended is meant only by a trade from before its end.
   */
  #numbered(message: ReceivedMessage): SentOrder[] {
    const { journal, plugin } = this.#options;
    const orderId = valueOf(message, tags.OrderID);
    // A report with a SecurityID has a Symbol, too: `[N/A]`.
    const instruments = [valueOf(message, tags.Symbol), valueOf(message, tags.SecurityID)];
    const side = valueOf(message, tags.Side);
    if (orderId === undefined) return [];
    const tradedAt = isTrade(message) ? valueOf(message, tags.TransactTime) : undefined;
    const tradedMs = fromFixTime(tradedAt ?? '') ?? Infinity;
    return journal
      .orders()
      .toReversed()
      .filter((order) => order.side === side && instruments.includes(order.instrument))
      .filter(({ executionId }) => {
        const known = plugin.known(executionId);
        if (known?.native?.orderId !== orderId) return false;
        return this.isOpen(executionId) || tradedMs <= known.updatedAt;
      });
  }

  #say(text: string, message: ReceivedMessage, executionId?: string): void {
    const about = [tags.ClOrdID, tags.ExecID, tags.OrderID, tags.RefSeqNum]
      .map((tag) => [tag, valueOf(message, tag)] as const)
      .filter(([, value]) => value !== undefined)
      .map(([tag, value]) => `${tag}=${value}`);
    this.#options.warn([text, ...about].join(' '), executionId);
  }
}
