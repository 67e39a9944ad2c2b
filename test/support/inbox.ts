/** Things that arrive, and tests that wait for the one they need; no polling and no sleeping. */
export class Inbox<T> {
  #items: T[] = [];
  #waiting: { readonly matches: (item: T) => boolean; readonly resolve: (item: T) => void }[] = [];

  put(item: T): void {
    this.#items.push(item);
    this.#serve();
  }

  /** Resolves with the first item that matches, and drops it and all before it. */
  take(matches: (item: T) => boolean): Promise<T> {
    return new Promise((resolve) => {
      this.#waiting.push({ matches, resolve });
      this.#serve();
    });
  }

  #serve(): void {
    for (let first = this.#waiting[0]; first !== undefined; first = this.#waiting[0]) {
      const { matches, resolve } = first;
      const at = this.#items.findIndex(matches);
      if (at === -1) return;
      const item = this.#items[at] as T;
      this.#items = this.#items.slice(at + 1);
      this.#waiting.shift();
      resolve(item);
    }
  }
}
