/**
 * The index of the log: one lmdb environment in the data directory, one named database per collection,
 * records as JSON text. It holds what the log held up to a position, which each transaction notes, and every
 * commit of it is durable. Readers and the thread that fills it open it alike, since all opens in a process
 * share one environment.
 *
 * JSON, because measured on requests and executions it costs what self-contained msgpack costs, keeps
 * every string faithful down to lone surrogates, and can be read with lmdb's own tools when all else fails.
 */
import { accessSync, chmodSync, closeSync, constants, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { type Database, open, type RootDatabase } from 'lmdb';
import { syncDirectory } from '../lib/durable-file.js';
import { errorText } from '../lib/error-text.js';
import { privateFileMode } from '../lib/private-modes.js';
import { beginStore, dataFile, storeLockFile } from './data-directory.js';
import { readKey, writeKey } from './key-encoding.js';
import { type Collection, collections, collectionTraits } from './key-layout.js';
import { eachChange, eachFrame } from './log/frame.js';
import { StoreRefused } from './refusal.js';

/** In `meta`: the position up to which the index holds the log. */
export const positionKey = 'log:position';

// lmdb's file begins with the header of its first page; its mark follows.
const headBytes = 28;
const markPosition = 24;
const mark = 0xbeefc0de;

export type Databases = Record<Collection, Database<string>>;

/**
 * Applies whole frames in one durable transaction, which also notes the position behind them. Throws `CommitLost`,
 * and changes nothing, when the index lacks what came before them.
 */
export type ApplyFrames = (frames: readonly Uint8Array[], position: number) => void;

/** Another process has opened the index, which can undo a commit: native-notes/lmdb.md. */
class CommitLost extends Error {
  override readonly name = 'CommitLost';
  constructor() {
    super(
      'data.mdb lacks commits that were written to it: another program has opened it at the same time. The next start ' +
        'restores the commits that the log still has. Keep other programs away from data.mdb.',
    );
  }
}

/** Throws `StoreRefused` when it cannot be opened. */
export function openIndex(directory: string): RootDatabase {
  try {
    beginStore(directory);
    const data = join(directory, dataFile);
    const files = [data, join(directory, storeLockFile)];
    const found = files.filter(isThere);
    if (found.includes(data)) assertMarked(data);
    // `permissionsMode` is missing from lmdb's type declarations.
    const environment = {
      noSubdir: false,
      overlappingSync: false,
      strictAsyncOrder: true,
      maxDbs: collections.length + 1,
      permissionsMode: privateFileMode,
    };
    const root = open(directory, environment);
    // The mode given to the open is narrowed by the umask, and does nothing for files that exist.
    for (const file of files) chmodSync(file, privateFileMode);
    syncDirectory(directory);
    return root;
  } catch (error) {
    if (error instanceof StoreRefused) throw error;
    throw new StoreRefused(
      `The store in ${directory} cannot be opened: ${errorText(error)}. Check that the directory and its files ` +
        'belong to the user that runs Signalbox, and that they are those of a Signalbox store.',
      { cause: error },
    );
  }
}

/**
 * Throws when the process may not read and write the file: lmdb would end the process without a message. Does
 * not open it, since closing the lock file would release all locks that the process has on it, lmdb's too.
 */
function isThere(path: string): boolean {
  try {
    accessSync(path, constants.R_OK | constants.W_OK);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return false;
  }
}

/** lmdb does not check the file itself: a foreign or cut-off one would end the process by a signal. */
function assertMarked(path: string): void {
  const head = Buffer.alloc(headBytes);
  const file = openSync(path, 'r');
  try {
    const bytes = readSync(file, head);
    // An empty file is a new store: lmdb makes it before it writes the first page.
    if (bytes === 0 || (bytes === headBytes && head.readUInt32LE(markPosition) === mark)) return;
  } finally {
    closeSync(file);
  }
  throw new StoreRefused(
    `The file ${path} is not a store, or is damaged. Restore it from a backup, or give another data directory.`,
  );
}

/** `keyEncoder` is missing from lmdb's type declarations. */
export function openDatabase(root: RootDatabase, name: Collection): Database<string> {
  const options = { encoding: 'string' as const, keyEncoder: { writeKey, readKey } };
  return root.openDB<string>(name, options);
}

export function openDatabases(root: RootDatabase): Databases {
  const opened = collections.map((name) => [name, openDatabase(root, name)]);
  return Object.fromEntries(opened) as Databases;
}

/** @throws CommitLost when the index no longer holds everything before the position. */
export function assertHolds(meta: Pick<Database<Buffer | string>, 'get'>, position: number): void {
  // A missing position compares as one that is too low.
  if (!(Number(meta.get(positionKey) ?? 0) >= position)) throw new CommitLost();
}

export function createApplyFrames(root: RootDatabase): ApplyFrames {
  const options = { encoding: 'binary' as const, keyEncoder: { writeKey, readKey } };
  const byNumber: Database<Buffer, Uint8Array | string>[] = [];
  for (const name of collections) {
    byNumber[collectionTraits[name].number] = root.openDB<Buffer, Uint8Array | string>(
      name,
      options,
    );
  }
  const meta = byNumber[collectionTraits.meta.number] as Database<Buffer, string>;
  return (frames, position) => {
    // lmdb takes the address of a value's memory, and gets a wrong one for memory that threads share.
    const own = Buffer.concat(frames);
    root.transactionSync(() => {
      assertHolds(meta, position - own.length);
      for (const frame of eachFrame(own)) {
        eachChange(frame, (collection, key, value) => {
          const database = byNumber[collection] as Database<Buffer, Uint8Array>;
          if (value.length > 0) database.putSync(key, value);
          else database.removeSync(key);
        });
      }
      meta.putSync(positionKey, Buffer.from(String(position)));
    });
  };
}
