/**
 * A map by two texts: an owner, and a name that the owner chose. One key joined of both would be made, and hashed,
 * anew for each look-up. Owners that chose the same name are looked through one after the other.
 */
interface Entry<V> {
  readonly owner: string;
  value: V;
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
    const first = this.#byName.get(name);
    if (first?.owner === owner) {
      if (first.next === undefined) this.#byName.delete(name);
      else this.#byName.set(name, first.next);
      return;
    }
    for (let entry = first; entry !== undefined; entry = entry.next) {
      if (entry.next?.owner === owner) entry.next = entry.next.next;
    }
  }

  *values(): Generator<V> {
    for (const first of this.#byName.values()) {
      for (let entry: Entry<V> | undefined = first; entry !== undefined; entry = entry.next) {
        yield entry.value;
      }
    }
  }

  #find(owner: string, name: string): Entry<V> | undefined {
    let entry = this.#byName.get(name);
    while (entry !== undefined && entry.owner !== owner) entry = entry.next;
    return entry;
  }
}
