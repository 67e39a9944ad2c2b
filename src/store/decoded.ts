/**
 * Records that are read far more often than they change, decoded once for as long as their bytes stay
 * the same: those of the gate, and what a bot polls. The store is asked every time, so that there is
 * no second truth beside it; what is saved is the text and the parsing, 1 µs of 1.4 for a user. Owns a bounded number of bytes; who gets a record shares it, and cannot change it. One
 * that is unchanged is the same object, so that what was made from it can be kept with it.
 */
import type { Database } from 'lmdb';
import type { Collection } from './key-layout.js';

interface Decoded {
  readonly bytes: Buffer;
  readonly record: unknown;
}

const collections: ReadonlySet<Collection> = new Set<Collection>([
  'switches',
  'apiKeys',
  'users',
  'requests',
  'openExecutions',
  'finalExecutions',
]);

/** As they lie in the store; decoded and with what is made of them they take a few times as much. */
const bytesMax = 16 * 1024 * 1024;

export interface DecodedRecords {
  holds(collection: Collection): boolean;
  get(database: Database<string>, collection: Collection, key: string | readonly string[]): unknown;
}

export function createDecodedRecords(): DecodedRecords {
  let decoded = new Map<string, Decoded>();
  let size = 0;

  return {
    holds: (collection) => collections.has(collection),

    get(database, collection, key) {
      // lmdb's own buffer, overwritten by the next get; only its `length` is that of the value.
      const buffer = database.getBinaryFast(key as string);
      if (buffer === undefined) return undefined;
      // No userId and no id of ours has a space in it.
      const name = `${collection} ${typeof key === 'string' ? key : key.join(' ')}`;
      const { length } = buffer;
      const known = decoded.get(name);
      if (known?.bytes.length === length && known.bytes.compare(buffer, 0, length) === 0) {
        return known.record;
      }
      const bytes = Buffer.from(buffer.subarray(0, length));
      const record: unknown = frozen(JSON.parse(bytes.toString()));
      size += length;
      if (size > bytesMax) {
        decoded = new Map();
        size = length;
      }
      decoded.set(name, { bytes, record });
      return record;
    },
  };
}

/** With all that is in it. */
function frozen(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  for (const part of Object.values(value)) frozen(part);
  return Object.freeze(value);
}
