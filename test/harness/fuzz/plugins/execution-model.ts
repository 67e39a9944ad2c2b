/**
 * A model of one execution: what the status answer must show after the terminal's frames. Numbers are
 * compared with a tolerance, since the gateway rounds sums to twelve digits.
 */
import { inspect } from 'node:util';
import { cancelEnds, cancelMoves, executionMoves } from '../../../model/contract-states.js';
import type { SaidFrame } from './frame-oracle.js';

interface CancelModel {
  readonly attempt: number;
  readonly cancelRequestId: string;
  status: string;
  reasonCode: string | null;
  acknowledged: boolean;
}

interface KnownFill {
  readonly fillId: string;
  readonly price: number;
  readonly quantity: number;
  readonly filledAt: string;
}

export class ExecutionModel {
  status: string;
  reasonCode: string | null = null;
  delivery: string;
  filledQuantity: number | null;
  remainingQuantity: number | null;
  averageFillPrice: number | null = null;
  fills: KnownFill[] = [];
  native: Record<string, unknown> | null = null;
  cancel: CancelModel | null = null;
  /** Statuses that the stream must carry, in order. */
  readonly told: string[] = [];
  /** The largest number of any report, for the tolerance. */
  #scale = 1;

  constructor(
    readonly requestId: string,
    readonly executionId: string,
    readonly orderRef: string | null,
    readonly quantity: number | null,
    isSent: boolean,
    /** Unix ms after which the order is not sent again. */
    readonly expiresAt: number,
  ) {
    this.status = isSent ? 'dispatched' : 'denied';
    this.delivery = isSent ? 'sent' : 'not_sent';
    if (!isSent) this.reasonCode = 'terminal_capability_missing';
    this.filledQuantity = orderRef === null ? null : 0;
    this.remainingQuantity = quantity;
    this.#scale = quantity ?? 1;
  }

  acknowledge(): void {
    if (this.delivery === 'confirmed') return;
    this.delivery = 'confirmed';
    if (this.status === 'dispatched') this.#move('submitted');
  }

  report(said: SaidFrame): void {
    const moves = said['status'] !== this.status;
    const fill = said['fill'] as KnownFill | undefined;
    if (moves && executionMoves[this.status]?.includes(said['status']) !== true) {
      return this.#lateFill(said, fill);
    }
    const isNew = fill !== undefined && !this.fills.some(({ fillId }) => fillId === fill.fillId);
    const fills = isNew ? [...this.fills, utcFill(fill)] : this.fills;
    const computed = this.#filledAfter(said['status'], fills, isNew);
    const named: number | null = said['filledQuantity'] ?? computed;
    if ((named ?? 0) < (this.filledQuantity ?? 0)) return this.#lateFill(said, fill);
    // A total below the sum of the fills is wrong, and so is what is told beside it.
    const isWrong = isNew && (named ?? 0) < sumOf(fills);
    const filled = isWrong ? computed : named;
    const { remainingQuantity, averageFillPrice }: Partial<SaidFrame> = isWrong ? {} : said;

    for (const number of [filled, remainingQuantity, averageFillPrice, fill?.price]) {
      this.#scale = Math.max(this.#scale, Math.abs(number ?? 0));
    }
    const isUntouched = filled === this.filledQuantity;
    this.fills = fills;
    this.filledQuantity = filled;
    this.delivery = 'confirmed';
    if (remainingQuantity !== undefined) this.remainingQuantity = remainingQuantity;
    else if (!isUntouched) {
      this.remainingQuantity =
        this.quantity === null || filled === null ? null : Math.max(0, this.quantity - filled);
    }
    if (averageFillPrice !== undefined) this.averageFillPrice = averageFillPrice;
    else if (isNew && sumOf(fills) >= (filled ?? 0)) this.averageFillPrice = averageOf(fills);
    this.#tellNative(said['native']);
    const isTold = moves || isNew || !isUntouched;
    if (isTold && isEnd(said['status']) && this.#isComplete(filled)) return this.#fillUp();
    this.reasonCode = said['reasonCode'] ?? (moves ? null : this.reasonCode);
    if (moves) this.#move(said['status'], this.reasonCode === null);
  }

  cancelAsked(attempt: number, cancelRequestId: string): void {
    this.cancel = {
      attempt,
      cancelRequestId,
      status: 'dispatched',
      reasonCode: null,
      acknowledged: false,
    };
  }

  cancelAcknowledged(attempt: number): void {
    const { cancel } = this;
    if (cancel === null || cancel.attempt !== attempt || cancel.acknowledged) return;
    if (cancelMoves[cancel.status]?.includes('pending') === true) cancel.status = 'pending';
    cancel.acknowledged = true;
  }

  cancelReported(attempt: number, said: SaidFrame): void {
    const { cancel } = this;
    if (cancel === null) return;
    const isLatest = cancel.attempt === attempt;
    const ends =
      said['status'] === 'cancelled' && executionMoves[this.status]?.includes('cancelled');
    const moves = isLatest && cancelMoves[cancel.status]?.includes(said['status']) === true;
    if (!moves && ends !== true) return;
    this.#tellNative(said['native']);
    const isFilled = ends === true && this.#isComplete(this.filledQuantity);
    if (moves) {
      cancel.status = isFilled ? 'too_late' : said['status'];
      cancel.reasonCode = isFilled ? 'already_filled' : (said['reasonCode'] ?? null);
      cancel.acknowledged = true;
    }
    if (isFilled) {
      this.#fillUp();
      this.delivery = 'confirmed';
    } else if (ends === true) {
      this.#move('cancelled');
      this.reasonCode = 'cancelled_by_api';
      this.delivery = 'confirmed';
    }
  }

  /** @returns the differences to an entry of the status answer, or undefined. */
  mismatch(shown: any): string | undefined {
    const wrong = {
      ...this.#unlike(shown, 'status', 'reasonCode', 'delivery', 'native', 'orderRef', 'fills'),
      ...this.#off(shown, 'filledQuantity', 'remainingQuantity', 'averageFillPrice'),
      ...(shown.cancel?.status === this.cancel?.status &&
      shown.cancel?.reasonCode === this.cancel?.reasonCode
        ? {}
        : { cancel: [shown.cancel, this.cancel] }),
    };
    return Object.keys(wrong).length === 0
      ? undefined
      : `${this.executionId}, shown and due: ${inspect(wrong, { depth: 5 })}`;
  }

  /** Section 4 of the contract: a fill that comes with a backward report is never lost. */
  #lateFill(said: SaidFrame, fill: KnownFill | undefined): void {
    if (fill === undefined || this.fills.some(({ fillId }) => fillId === fill.fillId)) return;
    this.fills = [...this.fills, utcFill(fill)];
    const sum = sumOf(this.fills);
    const filled = Math.max(sum, this.filledQuantity ?? 0, said['filledQuantity'] ?? 0);
    this.#scale = Math.max(this.#scale, filled, Math.abs(fill.price));
    if (filled !== this.filledQuantity) {
      this.filledQuantity = filled;
      this.remainingQuantity = this.quantity === null ? null : Math.max(0, this.quantity - filled);
    }
    const told = said['filledQuantity'] === filled ? said['averageFillPrice'] : undefined;
    if (told !== undefined) this.averageFillPrice = told;
    else if (sum === filled) this.averageFillPrice = averageOf(this.fills);
    this.delivery = 'confirmed';
    if (this.#isComplete(filled)) this.#fillUp();
  }

  #isComplete(filled: number | null): boolean {
    return this.quantity !== null && (filled ?? 0) >= this.quantity;
  }

  #fillUp(): void {
    if (this.status === 'filled') return;
    this.reasonCode = null;
    this.#move('filled');
  }

  #move(status: string, isUnexplained = false): void {
    this.status = status;
    this.told.push(status);
    const end = cancelEnds[status];
    const { cancel } = this;
    if (end === undefined || cancel === null) return;
    if (cancelMoves[cancel.status]?.includes(end[0]) !== true) return;
    if (status === 'cancelled' && isUnexplained) this.reasonCode = 'cancelled_by_api';
    [cancel.status, cancel.reasonCode] = end;
  }

  #filledAfter(status: string, fills: readonly KnownFill[], isNew: boolean): number | null {
    const known = isNew ? Math.max(sumOf(fills), this.filledQuantity ?? 0) : this.filledQuantity;
    const isAll = status === 'filled' && this.quantity !== null;
    return isAll ? Math.max(this.quantity, known ?? 0) : known;
  }

  /** An order id or state that the frame leaves out stays as it was. */
  #tellNative(told: any): void {
    if (told === undefined) return;
    const { orderId = null, state = null } = this.native ?? {};
    this.native = nativeOf({
      ...told,
      orderId: told.orderId ?? orderId,
      state: told.state ?? state,
    });
  }

  #unlike(shown: any, ...names: (keyof this & string)[]): Record<string, unknown> {
    return Object.fromEntries(
      names
        .filter((name) => JSON.stringify(shown[name]) !== JSON.stringify(this[name]))
        .map((name) => [name, [shown[name], this[name]]]),
    );
  }

  #off(shown: any, ...names: (keyof this & string)[]): Record<string, unknown> {
    const isNear = (one: number | null, two: number | null): boolean =>
      one === two || (one !== null && two !== null && Math.abs(one - two) <= 1e-9 * this.#scale);
    return Object.fromEntries(
      names
        .filter((name) => !isNear(shown[name], this[name] as number | null))
        .map((name) => [name, [shown[name], this[name]]]),
    );
  }
}

/** Whether a report of this status ends the order other than by filling it. */
function isEnd(status: string): boolean {
  return ['cancelled', 'completed', 'expired', 'rejected', 'unknown'].includes(status);
}

function sumOf(fills: readonly KnownFill[]): number {
  return Number(fills.reduce((total, { quantity }) => total + quantity, 0).toPrecision(15));
}

function averageOf(fills: readonly KnownFill[]): number {
  const sum = fills.reduce((total, { quantity }) => total + quantity, 0);
  return fills.reduce((total, { price, quantity }) => total + price * (quantity / sum), 0);
}

/** Only the fields of the protocol, in the order of the answer. */
function utcFill({ fillId, price, quantity, filledAt }: KnownFill): KnownFill {
  return { fillId, price, quantity, filledAt: new Date(filledAt).toISOString() };
}

function nativeOf({ orderId, state, code, text }: any): Record<string, unknown> {
  return {
    orderId: orderId ?? null,
    state: state ?? null,
    code: code ?? null,
    text: text ?? null,
  };
}
