/**
 * A map by two texts: an owner, and a name that the owner chose. One key joined of both would be made, and hashed,
 * anew for each look-up. Owners that chose the same name are looked through one after the other.
 */
interface Entry<V> {
  readonly owner: string;
  /** Undefined once it is deleted: V8 keeps the tables that a map has outgrown, and they keep the entry. */
  value: V | undefined;
  next: Entry<V> | undefined;
}

export class PairMap<V> {
  readonly #byName = new Map<string, Entry<V>>();

  get(owner: string, name: string): V | undefined {
    return this.#find(owner, name)?.value;
  }

  set(owner: string, name: string, value: V): void {
    const found = this.#find(owner, name);
    if (found === undefined) {
      this.#byName.set(name, { owner, value, next: this.#byName.get(name) });
    } else {
      found.value = value;
    }
  }

  delete(owner: string, name: string): void {
    let before: Entry<V> | undefined;
    let entry = this.#byName.get(name);
    while (entry !== undefined && entry.owner !== owner) {
      before = entry;
      entry = entry.next;
    }
    if (entry === undefined) return;
    if (before !== undefined) before.next = entry.next;
    else if (entry.next !== undefined) this.#byName.set(name, entry.next);
    else this.#byName.delete(name);
    entry.value = entry.next = undefined;
  }

  *values(): Generator<V> {
    for (const first of this.#byName.values()) {
      for (let entry: Entry<V> | undefined = first; entry !== undefined; entry = entry.next) {
        yield entry.value as V;
      }
    }
  }

  #find(owner: string, name: string): Entry<V> | undefined {
    let entry = this.#byName.get(name);
    while (entry !== undefined && entry.owner !== owner) entry = entry.next;
    return entry;
  }
}
