/** The statuses of all executions that may still move, as they were last read at one moment. */
import type { Ledger } from './ledger.js';

export interface StatusChange {
  readonly user: string;
  readonly executionId: string;
  /** What it has come to. */
  readonly status: string;
}

export class StatusList {
  readonly #ledger: Pick<Ledger, 'moving'>;
  readonly #statuses: ReadonlyMap<string, string>;

  constructor(ledger: Pick<Ledger, 'moving'>) {
    this.#ledger = ledger;
    this.#statuses = new Map(
      this.#read().map(({ executionId, status }) => [executionId, status] as const),
    );
  }

  /** Those in the list whose status has been read as another one since. */
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
