/** A list that is emptied from its head: `Array.shift` moves the whole rest of a long one. Owns the given items. */
export class Queue<T extends object> {
  readonly #items: (T | undefined)[];
  /** Index of the first item; those before it are taken and undefined. */
  #head = 0;

  constructor(items: T[] = []) {
    this.#items = items;
  }

  get length(): number {
    return this.#items.length - this.#head;
  }

  push(item: T): void {
    this.#items.push(item);
  }

  /** @returns undefined when it is empty. */
  shift(): T | undefined {
    const item = this.#items[this.#head];
    if (item === undefined) return undefined;
    this.#items[this.#head++] = undefined;
    if (this.#head === takenMax) {
      this.#items.splice(0, takenMax);
      this.#head = 0;
    }
    return item;
  }
}

/** How many taken places are removed at once. */
const takenMax = 1_024;
