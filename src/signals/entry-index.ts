/**
 * The entries of the book by user, source and execution, in the order of acceptance. Owns which entries are in the
 * book. There is no map of all entries: a user has few sources to look in, and a map of a million entries stops the
 * loop for a tenth of a second when it grows.
 */
import { targetKey } from '../model/source-name.js';
import type { BookEntry, SourceEntries } from './book-entry.js';

export class EntryIndex {
  /** By userId and source; '' where an execution has none. */
  readonly #sources = new Map<string, Map<string, SourceEntries>>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get(userId: string, executionId: string): BookEntry | undefined {
    for (const { entries } of this.#sourcesOf(userId)) {
      const entry = entries.get(executionId);
      if (entry !== undefined) return entry;
    }
    return undefined;
  }

  /**
   * The entries of one user, or of all, as a walk that may rest: those that leave meanwhile are left out, and those that
   * come are gone through at its end. A list of hundreds of thousands would take tens of milliseconds to make.
   */
  *walk(userId?: string): Generator<BookEntry, void, void> {
    const ids = userId === undefined ? this.#sources.keys() : [userId];
    for (const id of ids) {
      for (const { entries } of this.#sourcesOf(id)) yield* entries.values();
    }
  }

  /** The sources of all users that have entries. */
  sources(): SourceEntries[] {
    return [...this.#sources.values()].flatMap((sources) => [...sources.values()]);
  }

  ofSource(userId: string, source: string): BookEntry[] {
    return [...(this.#sources.get(userId)?.get(source)?.entries.values() ?? [])];
  }

  countOfSource(userId: string, source: string): number {
    return this.#sources.get(userId)?.get(source)?.entries.size ?? 0;
  }

  /** @returns the number of a user's entries and of what they hold: a sum over few sources. */
  countOf(userId: string): number {
    let count = 0;
    for (const { entries, held } of this.#sourcesOf(userId)) count += entries.size + held;
    return count;
  }

  /** @param held as `heldBy` counts it. */
  count(entry: BookEntry, held: number): void {
    if (entry.source == null) return;
    entry.source.held += held - entry.held;
    entry.held = held;
  }

  /** @returns false if the entry is in the index already, or has left it. */
  add(entry: BookEntry, sourceKey?: string): boolean {
    if (entry.source !== undefined) return false;
    const { userId } = entry;
    let sources = this.#sources.get(userId);
    if (sources === undefined) {
      sources = new Map();
      this.#sources.set(userId, sources);
    }
    const source = sourceKey ?? targetKey(entry.record) ?? '';
    let found = sources.get(source);
    if (found === undefined) {
      found = { userId, source, held: 0, entries: new Map() };
      sources.set(source, found);
    }
    found.entries.set(entry.executionId, entry);
    entry.source = found;
    this.#size++;
    return true;
  }

  /** @returns false if the entry is not in the index. */
  remove(entry: BookEntry): boolean {
    const { source } = entry;
    if (source == null) return false;
    this.count(entry, 0);
    source.entries.delete(entry.executionId);
    entry.source = null;
    this.#size--;
    if (source.entries.size > 0) return true;
    const sources = this.#sources.get(source.userId);
    sources?.delete(source.source);
    if (sources?.size === 0) this.#sources.delete(source.userId);
    return true;
  }

  #sourcesOf(userId: string): Iterable<SourceEntries> {
    return this.#sources.get(userId)?.values() ?? [];
  }
}
