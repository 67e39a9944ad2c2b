/** A snapshot of the last read statuses of all executions that may still change. */
import type { Ledger } from './ledger.js';

export interface StatusChange {
  readonly user: string;
  readonly executionId: string;
  /** The new status. */
  readonly status: string;
}

export class StatusSnapshot {
  readonly #ledger: Pick<Ledger, 'moving'>;
  readonly #statuses: ReadonlyMap<string, string>;

  constructor(ledger: Pick<Ledger, 'moving'>) {
    this.#ledger = ledger;
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
    return [...this.#ledger.moving].flatMap(({ user, history }) =>
      (history.last?.executions ?? []).map(({ executionId, status }) => ({
        user,
        executionId,
        status,
      })),
    );
  }
}
