/** The held records of one collection, by keys of one part or of two, and the keys known to have none. */

export type ShelfKey = string | readonly [owner: string, id: string | number];

/** Most keys of one part that are held as absent: any client can ask for such a key. */
export const absencesMax = 4_096;

export class Shelf {
  readonly holdsAbsence: boolean;
  readonly #single = new Map<string, unknown>();
  /** By the first part: to join both would make a new string for each look-up. */
  readonly #double = new Map<string, Map<string | number, unknown>>();
  /** Of keys of one part; all are forgotten when there are too many. */
  readonly #absent = new Set<string>();

  constructor({ holdsAbsence }: { readonly holdsAbsence: boolean }) {
    this.holdsAbsence = holdsAbsence;
  }

  /** @returns null where it is held that there is no record; undefined where nothing is held. */
  get(key: ShelfKey): unknown {
    if (typeof key === 'string') {
      return this.#single.get(key) ?? (this.#absent.has(key) ? null : undefined);
    }
    return this.#double.get(key[0])?.get(key[1]);
  }

  set(key: ShelfKey, record: unknown): void {
    if (typeof key === 'string') {
      if (record === null) this.#setAbsent(key);
      else this.#single.set(key, record);
      return;
    }
    let owned = this.#double.get(key[0]);
    if (owned === undefined) {
      owned = new Map<string | number, unknown>();
      this.#double.set(key[0], owned);
    }
    owned.set(key[1], record);
  }

  drop(key: ShelfKey): void {
    if (typeof key === 'string') {
      this.#single.delete(key);
      this.#absent.delete(key);
    } else {
      this.#double.get(key[0])?.delete(key[1]);
    }
  }

  clear(): void {
    this.#single.clear();
    this.#double.clear();
    this.#absent.clear();
  }

  #setAbsent(key: string): void {
    if (this.#absent.size === absencesMax) this.#absent.clear();
    this.#absent.add(key);
  }
}
