/**
 * One execution in the book. It holds what is meant; at rest, while it waits for its terminal, no more
 * than its name and its deadline, and its record is read from the store when somebody asks. There may
 * be millions at rest, and the garbage collector stops the loop for what stays in memory
 * (native-notes/profile.md): few fields, no closures, and it is its own deadline.
 */
import { assert } from '../lib/assert.js';
import type { Stored } from '../store/write-queue.js';
import type { Writer } from '../store/store.js';
import type { Deadline } from '../lib/deadlines.js';
import { isSettled, type Execution } from '../model/execution.js';

/** The book, as far as its entries need it. */
export interface EntryKeeper {
  /** @returns the record of an entry at rest. */
  read(entry: BookEntry): Execution | undefined;
  /** What the entry's state has waited for has not come. */
  due(entry: BookEntry): void;
}

/** The entries of one source, in the order of acceptance. */
export interface SourceLine {
  readonly name: string;
  readonly entries: Set<BookEntry>;
}

/** Only the book changes it. */
export class BookEntry implements Stored, Deadline {
  /** Connection that carried the submit frame, in this life of the process. */
  connectionId: string | undefined;
  cancelDeadline: Deadline | undefined;
  pendingWrites = 0;
  place = -1;
  /** Those of the same source; undefined while it is not in the book. */
  line: SourceLine | undefined;
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
    /** Monotonic ms after which no submit frame may leave. */
    readonly expiryDue: number,
    /** Monotonic ms at which it is called unknown, once it was sent. */
    public confirmDue: number | undefined,
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

  /** @returns undefined when it rested, and its record went with its user meanwhile. */
  recall(): Execution | undefined {
    return (this.#held ??= this.#keeper.read(this));
  }

  /** From here on the record on disk is all there is, until somebody asks. */
  rest(): void {
    if (this.pendingWrites === 0 && this.#held?.status === 'queued') this.#held = undefined;
  }

  /** Its deadline. */
  task(): void {
    this.#keeper.due(this);
  }

  /** Settled executions and moving ones lie apart, so that a start reads only what moves. */
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
