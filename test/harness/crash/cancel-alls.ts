/**
 * The cancels of all orders in the run: by a bot, the operator or a key's switch. Which orders each means, what
 * it answered, and those whose outcome is not known. Kept over all restarts of the gateway.
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
  /** Reason code of the orders that it ends. */
  readonly cause: string;
  /** Fields of an execution and their values. */
  readonly filter: Readonly<Record<string, string>>;
  /** Wall time in Unix ms before it was sent first. */
  readonly sentAt: number;
  /** Wall time of its end; Infinity while it may still come. */
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

  /** Whether it was accepted before a cancel of all orders was sent that means it. */
  covers(view: ExecutionView, { name }: Operation, acceptedAt: number): boolean {
    return this.#all.some(
      (each) => each.isConfirmed && acceptedAt < each.sentAt && isMeant(each, name.user, view),
    );
  }

  /** Whether one without an answer may have requested cancels of it. */
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
