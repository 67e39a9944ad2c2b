/**
 * The cancel-alls of the run, by bots, the operator and key switches: which orders each matches, and what it
 * answered, if an answer came. Kept over all restarts of the gateway.
 */
import type { Operation } from './operation.js';
import type { ExecutionView } from './request-history.js';

export interface CancelAllAnswer {
  readonly matched: number;
  readonly truncated: boolean;
  readonly orders: readonly {
    readonly executionId: string;
    readonly requestId: string;
    readonly outcome: string;
    readonly cancelRequestId: string | null;
  }[];
}

interface CancelAll {
  readonly user: string;
  /** Reason code of the orders that the cancel-all ends. */
  readonly cause: string;
  /** Fields of an execution and their values. */
  readonly filter: Readonly<Record<string, string>>;
  /** Wall time in Unix ms before its first attempt. */
  readonly sentAt: number;
  /** Wall time of its answer; Infinity before an answer has come. */
  endedAt: number;
  isConfirmed: boolean;
}

export class CancelAlls {
  /** executionIds that an answer called denied. */
  readonly denied = new Set<string>();
  /** cancelRequestIds that wait for their terminal. */
  readonly waiting = new Set<string>();
  readonly #all: CancelAll[] = [];

  begin(user: string, cause: string, filter: Readonly<Record<string, string>>, sentAt: number) {
    const each: CancelAll = {
      user,
      cause,
      filter,
      sentAt,
      endedAt: Infinity,
      isConfirmed: false,
    };
    this.#all.push(each);
    return each;
  }

  confirm(each: CancelAll, { orders }: CancelAllAnswer): void {
    each.endedAt = Date.now();
    each.isConfirmed = true;
    for (const { executionId, outcome, cancelRequestId } of orders) {
      if (outcome === 'denied') this.denied.add(executionId);
      if (outcome === 'requested') this.waiting.add(cancelRequestId ?? '');
    }
  }

  mayEnd(cause: string, view: ExecutionView, { name }: Operation, acceptedAt: number): boolean {
    return this.#all.some(
      (each) =>
        each.cause === cause && acceptedAt <= each.endedAt && isMeant(each, name.user, view),
    );
  }

  /** Whether a confirmed cancel-all that was sent after `acceptedAt` matches the execution. */
  covers(view: ExecutionView, { name }: Operation, acceptedAt: number): boolean {
    return this.#all.some(
      (each) => each.isConfirmed && acceptedAt < each.sentAt && isMeant(each, name.user, view),
    );
  }

  /** Whether a cancel-all without an answer may have requested a cancel of the execution. */
  mayHaveCancelled(view: ExecutionView, { name }: Operation): boolean {
    return this.#all.some((each) => !each.isConfirmed && isMeant(each, name.user, view));
  }
}

function isMeant({ user, filter }: CancelAll, owner: string, view: ExecutionView): boolean {
  return (
    user === owner &&
    view.orderRef !== null &&
    Object.entries(filter).every(([field, value]) => view[field as keyof ExecutionView] === value)
  );
}
