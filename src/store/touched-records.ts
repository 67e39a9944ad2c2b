/**
 * The keys that writes under way touch: when the outcome of a write is known, its keys are dropped from the
 * shelves. All writes of a group share one promise of the store, and get one from here that settles after the
 * drop. Owns the noted keys.
 */
import type { Collection, KeyOf } from './key-layout.js';
import type { Shelf, ShelfKey } from './shelf.js';
import type { Reader, Writer } from './store.js';

/** Shelf and key in turn. */
type Touched = (Shelf | ShelfKey)[];

export class TouchedRecords {
  readonly #shelves: ReadonlyMap<Collection, Shelf>;
  /** Touched by the write whose `fill` runs now; empty between writes. */
  readonly #noted: Touched = [];
  readonly #writer: Writer;
  #batch: Writer | undefined;
  /** Touched by the newest group. */
  #group: Touched = [];
  #stored: Promise<void> | undefined;
  #told: Promise<void> = Promise.resolve();
  /** The promise of the newest group or transaction; the store settles them in order. */
  #newest: Promise<unknown> = Promise.resolve();
  /** Touched by failed writes: the flush of a later write shows whether they happened after all. */
  #inDoubt: Touched = [];

  constructor(shelves: ReadonlyMap<Collection, Shelf>) {
    this.#shelves = shelves;
    this.#writer = this.#writerTo(() => this.#batch as Writer, this.#noted);
  }

  /** @returns a writer that passes on to the batch and notes the keys, until `follow` is called. */
  noting(batch: Writer): Writer {
    this.#batch = batch;
    return this.#writer;
  }

  /** @param stored the outcome of the write whose batch was noted. @returns the same outcome, after the drop. */
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

  /** Resolves when the keys of every write that the store has settled are dropped. */
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
