/**
 * Reads the store: what the overlay holds of a key, else what the index holds. Ranges merge both in the
 * order of the keys' bytes.
 */
import { encodeKey, type StoreKey } from './key-encoding.js';
import type { Collection, KeyOf, RecordOf } from './key-layout.js';
import type { Databases } from './lmdb-index.js';
import type { Overlay, Seen } from './overlay.js';
import { type Bounds, boundsOf, type KeyBounds, orderText, rangeOptions } from './range-options.js';
import { recordOfText } from './record-text.js';
import type { Entry, Range, Reader } from './store.js';
import { isRemoval, keyOf, orderOf, textOf, type Version } from './write-group.js';

export interface ReaderDeps {
  readonly databases: Databases;
  readonly overlay: Overlay;
  /** Which of the overlay's versions are read. */
  readonly seen: Seen;
  /** Throws when nothing may be read any more. */
  readonly assertOpen: () => void;
}

/** A row of the index, or a version of the overlay. */
interface Row {
  readonly key: unknown;
  readonly text: () => string;
}

export function createReader(deps: ReaderDeps): Reader {
  const { databases, overlay, seen, assertOpen } = deps;

  function get<C extends Collection>(collection: C, key: KeyOf<C>): RecordOf<C> | undefined {
    assertOpen();
    const version = overlay.get(collection, key, seen);
    if (version !== undefined && isRemoval(version)) return undefined;
    const text = version === undefined ? databases[collection].get(key) : textOf(version);
    return text === undefined ? undefined : recordOfText(collection, key, text);
  }

  /** What the overlay holds within the bounds, in their order. */
  function versionsIn(collection: Collection, bounds: Bounds): Version[] {
    const found = overlay.all(collection, seen, bounds.contains);
    const sign = bounds.reverse ? -1 : 1;
    return found.sort((a, b) => (orderOf(a) < orderOf(b) ? -sign : sign));
  }

  function* indexed(collection: Collection, bounds: KeyBounds, withText: boolean): Generator<Row> {
    const database = databases[collection];
    if (withText) {
      for (const { key, value } of database.getRange(bounds)) yield { key, text: () => value };
    } else {
      for (const key of database.getKeys(bounds)) yield { key, text: () => '' };
    }
  }

  /** The rows of the index and the versions in the order of keys; a version hides the row with its key. */
  function* merged(
    collection: Collection,
    wanted: KeyBounds,
    withText: boolean,
  ): Generator<Row | Version> {
    const bounds = boundsOf(wanted);
    const versions = versionsIn(collection, bounds);
    if (versions.length === 0) {
      yield* indexed(collection, wanted, withText);
      return;
    }
    // How many rows of the index the versions hide is not known yet.
    const unlimited = { ...wanted, limit: Infinity };
    let next = 0;
    for (const row of indexed(collection, unlimited, withText)) {
      const order = orderText(encodeKey(row.key as StoreKey));
      let version = versions[next];
      while (version !== undefined && orderOf(version) < order !== bounds.reverse) {
        if (orderOf(version) === order) break;
        yield version;
        version = versions[++next];
      }
      if (version === undefined || orderOf(version) !== order) yield row;
    }
    yield* versions.slice(next);
  }

  function read<C extends Collection, T>(
    collection: C,
    wanted: Range<C>,
    withText: boolean,
    take: (key: KeyOf<C>, row: Row | Version) => T,
  ): T[] {
    assertOpen();
    const taken: T[] = [];
    if (wanted.limit === 0) return taken;
    for (const row of merged(collection, rangeOptions(wanted), withText)) {
      if ('group' in row) {
        if (isRemoval(row)) continue;
        taken.push(take(keyOf(row) as KeyOf<C>, row));
      } else {
        taken.push(take(row.key as KeyOf<C>, row));
      }
      if (taken.length === wanted.limit) break;
    }
    return taken;
  }

  return {
    get,
    range: <C extends Collection>(collection: C, wanted: Range<C> = {}): Entry<C>[] =>
      read(collection, wanted, true, (key, row) => ({
        key,
        record: recordOfText(collection, key, 'group' in row ? textOf(row) : row.text()),
      })),
    keys: <C extends Collection>(collection: C, wanted: Range<C> = {}): KeyOf<C>[] =>
      read(collection, wanted, false, (key) => key),
  };
}
