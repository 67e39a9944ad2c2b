/**
 * Whether a store can be read by this version: the mark of lmdb in its file, and the mark of
 * Signalbox in it, `meta.format`, written once, when the store is new, and checked at every open.
 */
import { closeSync, openSync, readSync } from 'node:fs';
import type { Database, RootDatabase } from 'lmdb';
import { type Collection, storeFormat } from './key-layout.js';
import { StoreRefused } from './refusal.js';

const metaName: Collection = 'meta';
const formatKey = 'format';

// First in lmdb's file is the header of its first page, then its mark.
const headBytes = 28;
const markPosition = 24;
const mark = 0xbeefc0de;

/**
 * Throws `StoreRefused` when the file, if there is one, is not lmdb's: lmdb does not look before it
 * leaps, and a foreign or cut-off file would end the process by a signal.
 */
export function assertStoreFile(path: string): void {
  const head = Buffer.alloc(headBytes);
  let bytes: number;
  try {
    const file = openSync(path, 'r');
    try {
      bytes = readSync(file, head, 0, headBytes, 0);
    } finally {
      closeSync(file);
    }
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return;
    throw new StoreRefused(`The store's file ${path} cannot be read: ${String(error)}.`, {
      cause: error,
    });
  }
  // An empty file is a new store: lmdb makes it before it writes the first page.
  if (bytes === 0 || (bytes === headBytes && head.readUInt32LE(markPosition) === mark)) return;
  throw new StoreRefused(
    `The file ${path} is not a store, or is damaged. Restore it from a backup, or give another ` +
      'data directory.',
  );
}

/** Throws `StoreRefused` when the store cannot be read by this version. To be called before any other use. */
export function claimFormat(
  root: RootDatabase,
  openDatabase: (name: string) => Database<string>,
  directory: string,
): void {
  const names = [...root.getKeys()];
  if (names.length > 0 && !names.includes(metaName)) {
    throw new StoreRefused(
      `The store in ${directory} was not written by Signalbox: it has no format mark. ` +
        'Give another data directory.',
    );
  }
  const meta = openDatabase(metaName);
  // In one transaction, so that two programs that open a new store at once agree. Of a first open
  // that was cut off, there may be an empty `meta` and nothing else: that store is still new.
  const found = root.transactionSync(() => {
    const text = meta.get(formatKey);
    if (text !== undefined) return text;
    if (names.some((name) => name !== metaName)) return 'none';
    meta.putSync(formatKey, String(storeFormat));
    return String(storeFormat);
  });
  if (found === String(storeFormat)) return;
  throw new StoreRefused(
    `The store in ${directory} has format ${found}; this version of Signalbox reads and writes ` +
      `format ${storeFormat}. Start the version that wrote it, or give another data directory.`,
  );
}
