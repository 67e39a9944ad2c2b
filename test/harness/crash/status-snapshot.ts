/**
 * A snapshot of the last read statuses of all executions that may still change. It holds their requests, because the
 * ledger lets go of a request as soon as its last change is read.
 */
import type { AcceptedRequest, Ledger } from './ledger.js';

export interface StatusChange {
  readonly user: string;
  readonly executionId: string;
  /** The new status. */
  readonly status: string;
}

export class StatusSnapshot {
  readonly #requests: readonly AcceptedRequest[];
  readonly #statuses: ReadonlyMap<string, string>;

  constructor({ moving }: Pick<Ledger, 'moving'>) {
    this.#requests = [...moving];
    this.#statuses = new Map(
      this.#read().map(({ executionId, status }) => [executionId, status] as const),
    );
  }

  /** Executions whose last read status differs from the snapshot. */
  changes(): StatusChange[] {
    return this.#read().filter(({ executionId, status }) => {
      const before = this.#statuses.get(executionId);
      return before !== undefined && before !== status;
    });
  }

  #read(): StatusChange[] {
    return this.#requests.flatMap(({ user, history }) =>
      (history.last?.executions ?? []).map(({ executionId, status }) => ({
        user,
        executionId,
        status,
      })),
    );
  }
}
