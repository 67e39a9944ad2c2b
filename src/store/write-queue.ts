/**
 * Writes that must happen sooner or later, in order: what terminals report and what was sent to
 * them. One group commit is under way at a time; what comes meanwhile joins the next. When a commit
 * fails, nothing behind it goes ahead: all of it is tried again once the disk takes writes, so that
 * a later acknowledgement never covers an earlier loss. Writes that come until then only wait: a try for each
 * of them would write the whole backlog again.
 */
import { StoreFailure, type Store, type Writer } from './store.js';

/** A record that writes itself. */
export interface Stored {
  /** Puts the current state, not that of the moment when the write was asked for. */
  put(batch: Writer): void;
}

export interface QueuedWrite {
  /** Each is put once per commit, however many writes of its group name it, and at each retry. */
  readonly records: readonly Stored[];
  /** Runs after the flush; never when the process ends first. */
  readonly done?: (() => void) | undefined;
  /** Runs each time that its commit, or one that it waits behind, has failed; the write is tried again later. */
  readonly failed?: (() => void) | undefined;
}

export class WriteQueue {
  /** Records of the writes that wait, in the order in which they were first named. */
  #records = new Set<Stored>();
  /** Those of the waiting writes that have a callback. */
  #waiting: QueuedWrite[] = [];
  #isBusy = false;
  #isHeld = false;
  /** The callers of `settled`. */
  #asking: (() => void)[] = [];

  constructor(readonly store: Store) {}

  /** Whether a group is under way. */
  get isBusy(): boolean {
    return this.#isBusy;
  }

  /** Whether the last commit failed and `retry` was not called since. */
  get isHeld(): boolean {
    return this.#isHeld;
  }

  /** How many records wait, plus how many writes with a callback. */
  get backlog(): number {
    return this.#records.size + this.#waiting.length;
  }

  /** While the disk refuses, a write without a callback takes no memory for records that wait already. */
  write(write: QueuedWrite): void {
    for (const record of write.records) this.#records.add(record);
    if (write.done !== undefined || write.failed !== undefined) this.#waiting.push(write);
    if (!this.#isHeld) this.#begin();
    // Not within the call: the caller may not be ready for it.
    else if (write.failed !== undefined) queueMicrotask(write.failed);
  }

  /** To be called each time when the disk takes writes again after a failure; harmless at any time. */
  retry(): void {
    this.#isHeld = false;
    this.#begin();
  }

  #begin(): void {
    if (this.#isBusy || (this.#records.size === 0 && this.#waiting.length === 0)) return;
    this.#isBusy = true;
    const records = this.#records;
    const group = this.#waiting;
    const asking = this.#asking;
    this.#records = new Set();
    this.#waiting = [];
    this.#asking = [];
    this.store
      .write((batch) => {
        for (const record of records) record.put(batch);
      })
      .then(
        () => {
          this.#isBusy = false;
          this.#begin();
          for (const { done } of group) done?.();
          for (const tell of asking) tell();
          this.#tellRest();
        },
        (error: unknown) => {
          this.#isBusy = false;
          this.#isHeld = true;
          for (const record of this.#records) records.add(record);
          for (const later of this.#waiting) group.push(later);
          this.#records = records;
          this.#waiting = group;
          // Skips writes that the callbacks add: `write` tells those itself.
          const { length } = group;
          for (let i = 0; i < length; i++) group[i]?.failed?.();
          for (const tell of asking) tell();
          this.#tellRest();
          if (!(error instanceof StoreFailure)) throw error;
        },
      );
  }

  /** Resolves when every write that was asked for before is on disk, or when the disk refuses. */
  settled(): Promise<void> {
    if (!this.#isBusy) return Promise.resolve();
    return new Promise((resolve) => this.#asking.push(resolve));
  }

  /** Resolves the callers of `settled` that no write under way will resolve. */
  #tellRest(): void {
    if (this.#isBusy) return;
    for (const tell of this.#asking.splice(0)) tell();
  }
}
