/**
 * One execution in the book: the newest state, which may not be on disk yet, and the deadlines of its state.
 * While an execution waits for its terminal, its entry rests: it keeps the id and the deadline only, and
 * reads the record from the store when it is asked for. Millions may rest, and the garbage collector stops
 * the loop for what stays in memory (native-notes/profile.md): so an entry has few fields and no closures,
 * and is its own deadline.
 */
import { assert } from '../lib/assert.js';
import type { Deadline } from '../lib/deadlines.js';
import { isSettled, type Execution } from '../model/execution.js';
import type { Writer } from '../store/store.js';
import type { Stored } from '../store/write-queue.js';

/** The book, as far as its entries need it. */
export interface EntryKeeper {
  /** @returns the record of an entry at rest. */
  read(entry: BookEntry): Execution | undefined;
  /** The entry's deadline has passed. */
  due(entry: BookEntry): void;
}

/** The entries of one source, in the order of acceptance. */
export interface SourceEntries {
  readonly name: string;
  readonly entries: Set<BookEntry>;
}

/** The deadlines of an entry, in monotonic ms. Only `ExecutionTimeouts` changes them. */
export interface EntryDeadlines {
  /** No submit frame may leave after it. */
  expiryDue: number;
  /** When the execution becomes unknown; undefined while it has not been sent. */
  confirmDue: number | undefined;
  cancelDeadline: Deadline | undefined;
}

/** Only the book changes it, except for `EntryDeadlines`. */
export class BookEntry implements Stored, Deadline, EntryDeadlines {
  expiryDue = Infinity;
  confirmDue: number | undefined;
  cancelDeadline: Deadline | undefined;
  /** Connection that carried the submit frame, in this life of the process. */
  connectionId: string | undefined;
  pendingWrites = 0;
  heapIndex = -1;
  /** Undefined while the entry is not in the book. */
  source: SourceEntries | undefined;
  readonly executionId: string;
  readonly #keeper: EntryKeeper;
  /** Undefined while it rests. */
  #held: Execution | undefined;
  /** Whether a write may have put it among the settled ones. */
  #mayLieSettled: boolean;

  constructor(
    keeper: EntryKeeper,
    readonly userId: string,
    execution: Execution,
    /** Monotonic ms when it entered this life of the process. */
    readonly enteredAt: number,
    /** Was sent, or may have been, before this life of the process. */
    readonly isRecovered: boolean,
  ) {
    this.#keeper = keeper;
    this.executionId = execution.executionId;
    this.#held = execution;
    this.#mayLieSettled = isSettled(execution);
  }

  get execution(): Execution {
    const execution = this.recall();
    assert(execution !== undefined, `execution ${this.executionId} is in the book, not on disk`);
    return execution;
  }

  set execution(next: Execution) {
    this.#held = next;
  }

  /** @returns undefined when it rested and its record was removed with its user. */
  recall(): Execution | undefined {
    return (this.#held ??= this.#keeper.read(this));
  }

  /** Drops the record from memory; the next access reads it from the store. */
  rest(): void {
    if (this.pendingWrites === 0 && this.#held?.status === 'queued') this.#held = undefined;
  }

  /** Its deadline. */
  task(): void {
    this.#keeper.due(this);
  }

  /** Settled executions and open ones lie apart, so that a start reads only the open ones. */
  put(batch: Writer): void {
    const { userId, execution } = this;
    const key: [string, string] = [userId, execution.executionId];
    if (isSettled(execution)) {
      this.#mayLieSettled = true;
      batch.remove('openExecutions', key);
      batch.put('finalExecutions', key, execution);
    } else {
      if (this.#mayLieSettled) batch.remove('finalExecutions', key);
      batch.put('openExecutions', key, execution);
    }
  }
}
