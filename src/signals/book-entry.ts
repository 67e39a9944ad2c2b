/**
 * Holds one execution of the book: its latest state, which may not be durable yet, and its deadlines. While
 * an execution waits for its terminal, its entry is unloaded: it holds only the id and the deadline, and
 * reads the record from the store on access. Millions of entries may wait, and the length of GC pauses grows
 * with the objects on the heap (native-notes/profile.md): so an entry has few fields, no closures, and is its
 * own Deadline.
 */
import { assert } from '../lib/assert.js';
import type { Deadline } from '../lib/deadlines.js';
import type { Execution } from '../model/execution.js';
import type { Writer } from '../store/store.js';
import { type Place, placeOf, putFills, putRecord, toRecord } from './stored-execution.js';
import type { Stored } from '../store/write-queue.js';

/** What entries need of the book. */
export interface EntryOwner {
  /** @returns the stored record of an unloaded entry. */
  read(entry: BookEntry): Execution | undefined;
  /** @returns the execution of the entry's record, which lacks the fills that have rows of their own. */
  withFills(entry: BookEntry, record: Execution): Execution;
  /** The entry's deadline has passed. */
  due(entry: BookEntry): void;
}

/** The entries of one source by their executionIds, in the order of acceptance. */
export interface SourceEntries {
  readonly userId: string;
  readonly source: string;
  /** What the entries hold, as `heldBy` counts it. */
  held: number;
  readonly entries: Map<string, BookEntry>;
}

/** What a cancel waits for: its terminal; once sent, the confirmation; once unknown, a reconnect. */
export type CancelWait = 'terminal' | 'confirmation' | 'reconnect';

/** Only the book changes its fields, except for the deadlines. */
export class BookEntry implements Stored, Deadline {
  // The deadlines, in monotonic ms. Only `ExecutionTimeouts` changes them.
  /** No submit frame is sent after it. */
  expiryDue = Infinity;
  /** When the execution becomes unknown; undefined while it has not been sent. */
  confirmDue: number | undefined;
  cancelDeadline: Deadline | undefined;
  /** What the cancel waits for until `cancelDeadline`. */
  cancelWait: CancelWait | undefined;
  /** Connection that sent the submit frame, in this process. */
  connectionId: string | undefined;
  pendingWrites = 0;
  /** How many of the fills are stored; counted after each flush. */
  durableFills = 0;
  /** The API key whose open orders it is counted among; only `OpenOrders` changes it. */
  countedFor: number | undefined;
  /** What it holds, as its source counts it; only the index changes it. */
  held = 0;
  heapIndex = -1;
  /** Undefined before the entry is in the book; null once it has left: the execution may have another entry. */
  source: SourceEntries | null | undefined;
  readonly executionId: string;
  /** The API key that submitted it. A revocation looks for its executions, and must not load those of other keys. */
  readonly keyId: number | undefined;
  readonly #owner: EntryOwner;
  /** Undefined while unloaded. Lacks the fills that have rows of their own until they are needed. */
  #loaded: Execution | undefined;
  /** The furthest place, in the order `open`, `final`, `unknown`, where a write may have stored the record. */
  #place: Place;

  constructor(
    owner: EntryOwner,
    readonly userId: string,
    record: Execution,
    /** Monotonic ms of its acceptance, or of the load after a restart. */
    readonly enteredAt: number,
    /** Whether an earlier process may have sent it. */
    readonly isRecovered: boolean,
  ) {
    this.#owner = owner;
    this.executionId = record.executionId;
    this.keyId = record.keyId;
    this.#loaded = record;
    this.#place = placeOf(record);
  }

  /** The execution with all of its fills, which are held from then on: reading thousands of them takes long. */
  get execution(): Execution {
    const { record } = this;
    if (record.fillRows === undefined) return record;
    return (this.#loaded = this.#owner.withFills(this, record));
  }

  set execution(next: Execution) {
    this.#loaded = next;
  }

  /** The execution, which may lack the fills that have rows of their own. */
  get record(): Execution {
    const record = this.load();
    assert(record !== undefined, `execution ${this.executionId} is in the book, not on disk`);
    return record;
  }

  /** @returns the record; undefined when it was unloaded and its record was removed with its user. */
  load(): Execution | undefined {
    return (this.#loaded ??= this.#owner.read(this));
  }

  /** Whether the record is in memory. If it is not, the execution is queued. */
  get isLoaded(): boolean {
    return this.#loaded !== undefined;
  }

  /** Drops the record from memory; the next access reads it from the store. */
  unload(): void {
    if (this.pendingWrites === 0 && this.#loaded?.status === 'queued') this.#loaded = undefined;
  }

  /** Drops the fills that have rows of their own: all of them must be durable. */
  unloadFills(): void {
    this.#loaded = toRecord(this.record);
  }

  /** Runs when the deadline is due. */
  task(): void {
    this.#owner.due(this);
  }

  put(batch: Writer): void {
    const { userId, executionId, record } = this;
    putFills(batch, userId, record, this.durableFills);
    putRecord(batch, [userId, executionId], toRecord(record), this.#place);
    const place = placeOf(record);
    if (place === 'unknown' || this.#place === 'open') this.#place = place;
  }
}
