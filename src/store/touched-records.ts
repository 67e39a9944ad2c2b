/**
 * What the writes under way touch, until their outcome is known: then it is dropped from the shelves. Owns the
 * writes under way. All writes of a group share the promise that the store gave them, and get one of ours.
 */
import type { Collection, KeyOf } from './key-layout.js';
import type { Shelf, ShelfKey } from './shelf.js';
import type { Reader, Writer } from './store.js';

/** Shelf and key in turn. */
type Touched = (Shelf | ShelfKey)[];

export class TouchedRecords {
  readonly #shelves: ReadonlyMap<Collection, Shelf>;
  /** By the write whose `fill` runs now; empty between writes. */
  readonly #noted: Touched = [];
  readonly #writer: Writer;
  #batch: Writer | undefined;
  /** The newest group. */
  #group: Touched = [];
  #stored: Promise<void> | undefined;
  #told: Promise<void> = Promise.resolve();
  /** Of a group or a transaction; the store tells outcomes in their order. */
  #newest: Promise<unknown> = Promise.resolve();
  /** Touched by writes that failed: whether they happened after all shows when a later one is flushed. */
  #inDoubt: Touched = [];

  constructor(shelves: ReadonlyMap<Collection, Shelf>) {
    this.#shelves = shelves;
    this.#writer = this.#writerTo(() => this.#batch as Writer, this.#noted);
  }

  /** @returns the batch, with a note of what it is told; until `follow` is called. */
  noting(batch: Writer): Writer {
    this.#batch = batch;
    return this.#writer;
  }

  /** @param stored the outcome of the write whose batch was noted. @returns the same, told after the drop. */
  follow(stored: Promise<void>): Promise<void> {
    if (stored !== this.#stored) {
      this.#stored = stored;
      this.#group = [];
      this.#told = this.#dropAfter(stored, this.#group);
    }
    for (const each of this.#noted) this.#group.push(each);
    this.#noted.length = 0;
    return this.#told;
  }

  /** As `follow`, for a transaction: its work may run later. */
  followOne<T>(
    begin: (noted: (transaction: Reader & Writer) => Reader & Writer) => Promise<T>,
  ): Promise<T> {
    const touched: Touched = [];
    const noted = (transaction: Reader & Writer): Reader & Writer => ({
      ...transaction,
      ...this.#writerTo(() => transaction, touched),
    });
    return this.#dropAfter(begin(noted), touched);
  }

  /** Resolves when every outcome that the store has told is told here, too. */
  async settled(): Promise<void> {
    await Promise.allSettled([this.#newest]);
  }

  #writerTo(target: () => Writer, touched: Touched): Writer {
    const note = (collection: Collection, key: KeyOf<Collection>): void => {
      const shelf = this.#shelves.get(collection);
      if (shelf !== undefined) touched.push(shelf, key as ShelfKey);
    };
    return {
      put(collection, key, record) {
        note(collection, key);
        target().put(collection, key, record);
      },
      remove(collection, key) {
        note(collection, key);
        target().remove(collection, key);
      },
    };
  }

  #dropAfter<T>(stored: Promise<T>, touched: Touched): Promise<T> {
    const told = this.#drop(stored, touched);
    this.#newest = told;
    return told;
  }

  async #drop<T>(stored: Promise<T>, touched: Touched): Promise<T> {
    try {
      const result = await stored;
      drop(this.#inDoubt);
      this.#inDoubt = [];
      return result;
    } catch (error) {
      // One by one: there may be more than a call takes arguments.
      for (const each of touched) this.#inDoubt.push(each);
      throw error;
    } finally {
      drop(touched);
    }
  }
}

function drop(touched: Touched): void {
  for (let i = 0; i < touched.length; i += 2) {
    (touched[i] as Shelf).drop(touched[i + 1] as ShelfKey);
  }
}
