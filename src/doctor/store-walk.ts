/**
 * Reads every record of a store and checks it against the rules, in slices: each slice is read within
 * one turn and so within one snapshot.
 */
import {
  type Collection,
  collections,
  collectionsWith,
  importKeyOf,
  importPrefix,
  type KeyOf,
  type Layout,
  metaRange,
  purgeKeyOf,
} from '../store/key-layout.js';
import { errorText } from '../lib/error-text.js';
import type { Reader } from '../store/store.js';
import { rules } from './store-rules.js';

export interface StoreReport {
  readonly records: number;
  readonly users: number;
  /** Sentences, the first `damagesShownMax` of them. */
  readonly damages: readonly string[];
  readonly damageCount: number;
  /** Users whose import was cut off. */
  readonly halfImported: readonly string[];
  /** Unix milliseconds of the newest acceptance; 0 without one. */
  readonly newestAt: number;
}

const keysPerSlice = 256;
const damagesShownMax = 20;

const ownedCollections: ReadonlySet<Collection> = new Set(collectionsWith('ownedByKey'));

/** @param pause ends the turn, and with it the snapshot. */
export async function walkStore(reader: Reader, pause: () => Promise<void>): Promise<StoreReport> {
  const damages: string[] = [];
  let damageCount = 0;
  let records = 0;
  let newestAt = 0;

  function damage(sentence: string): void {
    damageCount++;
    if (damages.length < damagesShownMax) damages.push(sentence);
  }

  function look<C extends Collection>(collection: C, key: KeyOf<C>): void {
    records++;
    const name = `${collection} ${JSON.stringify(key)}`;
    try {
      const record = reader.get(collection, key);
      // Gone since its key was read, which only a snapshot of an earlier slice can show.
      if (record === undefined || isLeaving(reader, collection, key)) return;
      const wrong = ownerless(reader, collection, key) ?? rules[collection](reader, key, record);
      if (wrong !== undefined) damage(`${name} ${wrong}.`);
      if (collection === 'requests') {
        newestAt = Math.max(newestAt, (record as Layout['requests']['record']).acceptedAt);
      }
    } catch (error) {
      damage(`${name} cannot be read: ${errorText(error)}.`);
    }
  }

  for (const collection of collections) {
    let last: KeyOf<typeof collection> | undefined;
    for (;;) {
      const from = last === undefined ? {} : { start: last };
      const keys = reader.keys(collection, { ...from, limit: keysPerSlice + 1 });
      const fresh = last === undefined ? keys : keys.filter((key) => !isSame(key, last));
      for (const key of fresh) look(collection, key);
      if (keys.length <= keysPerSlice) break;
      last = keys.at(-1);
      await pause();
    }
  }
  const marks = reader.keys('meta', metaRange(importPrefix));
  return {
    records,
    users: reader.keys('users').length,
    damages,
    damageCount,
    halfImported: marks.map((key) => key.slice(importPrefix.length)),
    newestAt,
  };
}

function isSame(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

/** What deleted users and cut-off imports left: the sweep or the next import removes it. */
function isLeaving(reader: Reader, collection: Collection, key: unknown): boolean {
  const owner = ownerOf(collection, key);
  if (owner === undefined || reader.get('users', owner) !== undefined) return false;
  const marks = [purgeKeyOf(owner), importKeyOf(owner)];
  return marks.some((mark) => reader.get('meta', mark) !== undefined);
}

function ownerless(reader: Reader, collection: Collection, key: unknown): string | undefined {
  const owner = ownerOf(collection, key);
  const isOwned = owner === undefined || reader.get('users', owner) !== undefined;
  return isOwned ? undefined : 'belongs to a user that does not exist';
}

function ownerOf(collection: Collection, key: unknown): string | undefined {
  return ownedCollections.has(collection) ? (key as readonly [string])[0] : undefined;
}
