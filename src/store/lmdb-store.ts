/**
 * The store port over lmdb: one environment in the data directory, one named database per
 * collection, records as JSON text. Nothing is visible before it is flushed (`overlappingSync:
 * false`), and the writes of one event turn are one transaction (`eventTurnBatching`, lmdb's
 * default). A synchronous write would overtake what its turn has written, so none is made after the open.
 *
 * JSON, because measured on requests and executions it costs what self-contained msgpack costs
 * (put 5.8 against 4.5 µs, get 4.1 against 4.6 µs, most of it lmdb's own), keeps every string
 * faithful down to lone surrogates, and can be read with lmdb's own tools when all else fails.
 */
import { chmodSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type Database, open, type RootDatabase } from 'lmdb';
import { type Clock, systemClock } from '../lib/clock.js';
import type { Histogram } from '../lib/instruments.js';
import { errorText } from '../lib/error-text.js';
import { privateDirectoryMode, privateFileMode } from '../lib/private-modes.js';
import { dataFile, storeLockFile } from './data-directory.js';
import { createDiskReserve, type DiskSpace, readDiskSpace } from './disk-reserve.js';
import { commitFailure, createGroupCommit } from './group-commit.js';
import { createDecodedRecords } from './decoded.js';
import { createJournal } from './journal.js';
import { readKey, writeKey } from './key-encoding.js';
import { type Collection, collections, type KeyOf, type RecordOf } from './key-layout.js';
import { rangeOptions } from './range-options.js';
import { StoreRefused } from './refusal.js';
import {
  type Entry,
  type Range,
  type Reader,
  type Store,
  StoreFailure,
  type Writer,
} from './store.js';
import { removeStagedCopies } from './staged-copy.js';
import { assertStoreFile, claimFormat } from './store-format.js';
import { createTextValues } from './text-values.js';
import { runTransaction } from './transaction.js';

export interface StoreOptions {
  readonly clock?: Clock;
  /** Seconds from a turn's first write until the flush. */
  readonly commitLatency?: Histogram;
  /** Told of the outcome of every commit: after `false`, nothing is durable until a `true`. */
  readonly onCommit?: (ok: boolean) => void;
  /** What the disk of the directory holds; read from the system unless a test says otherwise. */
  readonly diskSpace?: () => DiskSpace | undefined;
}

type Databases = Record<Collection, Database<string>>;

/**
 * Opens the store in an existing directory, or makes a new one there. Throws `StoreRefused`. For the
 * process that holds the directory's lock: an open beside another process loses what that one commits.
 */
export function openStore(directory: string, options: StoreOptions = {}): Store {
  removeStagedCopies(directory);
  const { root, databases } = openEnvironment(directory);
  const { clock = systemClock, diskSpace = () => readDiskSpace(directory) } = options;
  const reserve = createDiskReserve(clock, diskSpace);
  const commits = createGroupCommit({
    clock,
    commitLatency: options.commitLatency,
    onCommit: options.onCommit,
  });
  const journal = createJournal(databases);
  const decoded = createDecodedRecords();
  let closed = false;
  let closing: Promise<void> | undefined;

  // The start of a turn's transaction has a promise that lmdb does not return; when the commit
  // fails, its rejection would end the process. It is reachable right after this event.
  root.on('beforecommit', () => {
    queueMicrotask(() => {
      root.committed.then(noted, commitFailure);
    });
  });

  function get<C extends Collection>(collection: C, key: KeyOf<C>): RecordOf<C> | undefined {
    if (closed) throw closedFailure();
    if (decoded.holds(collection)) {
      return decoded.get(
        databases[collection],
        collection,
        key as string | string[],
      ) as RecordOf<C>;
    }
    const text = databases[collection].get(key);
    return text === undefined ? undefined : (JSON.parse(text) as RecordOf<C>);
  }

  function range<C extends Collection>(collection: C, wanted: Range<C> = {}): Entry<C>[] {
    if (closed) throw closedFailure();
    const entries: Entry<C>[] = [];
    for (const { key, value } of databases[collection].getRange(rangeOptions(wanted))) {
      entries.push({ key: key as KeyOf<C>, record: JSON.parse(value) as RecordOf<C> });
    }
    return entries;
  }

  /** Why nothing may be handed to lmdb now. */
  function refusal(): StoreFailure | undefined {
    if (closed) return closedFailure();
    const full = reserve.refusal();
    if (full !== undefined) options.onCommit?.(false);
    return full;
  }

  function keys<C extends Collection>(collection: C, wanted: Range<C> = {}): KeyOf<C>[] {
    if (closed) throw closedFailure();
    return [...databases[collection].getKeys(rangeOptions(wanted))] as KeyOf<C>[];
  }

  return {
    get,
    range,
    keys,

    write(fill) {
      const refused = refusal();
      if (refused !== undefined) return Promise.reject(refused);
      try {
        fill(journal);
      } catch (error) {
        journal.drop();
        return Promise.reject(error instanceof Error ? error : new Error(errorText(error)));
      }
      return journal.replay(commits.follow);
    },

    transact<T>(work: (transaction: Reader & Writer) => T): Promise<T> {
      const refused = refusal();
      if (refused !== undefined) return Promise.reject(refused);
      return commits.settle(runTransaction(root, { get, range, keys }, databases, work));
    },

    async backup(target) {
      if (closed) throw closedFailure();
      // lmdb makes the copy readable for others, so its directory is closed first.
      chmodSync(target, privateDirectoryMode);
      await root.backup(target, false);
      chmodSync(join(target, dataFile), privateFileMode);
    },

    sizeBytes: () => statSync(join(directory, dataFile)).size,

    close() {
      closed = true;
      closing ??= commits.idle().then(() => root.close());
      return closing;
    },
  };
}

function noted(): void {
  // The promise of the write itself reports the outcome.
}

function closedFailure(): StoreFailure {
  return new StoreFailure('the store is closed');
}

interface Environment {
  readonly root: RootDatabase;
  readonly databases: Databases;
}

function openEnvironment(directory: string): Environment {
  assertStoreFile(join(directory, dataFile));
  // `permissionsMode` and `keyEncoder` are missing from lmdb's type declarations.
  const environment = {
    noSubdir: false,
    overlappingSync: false,
    strictAsyncOrder: true,
    maxDbs: collections.length + 1,
    permissionsMode: privateFileMode,
  };
  const database = {
    encoding: 'string' as const,
    encoder: createTextValues(),
    keyEncoder: { writeKey, readKey },
  };
  const root = orRefused(directory, () => open(directory, environment));
  orRefused(directory, () => {
    // The mode given to the open is narrowed by the umask, and does nothing for files that exist.
    for (const file of [dataFile, storeLockFile]) chmodSync(join(directory, file), privateFileMode);
  });
  try {
    claimFormat(root, (name) => root.openDB<string>(name, { ...database }), directory);
    const opened = collections.map((name) => [name, root.openDB<string>(name, { ...database })]);
    return { root, databases: Object.fromEntries(opened) as Databases };
  } catch (error) {
    void root.close();
    throw error;
  }
}

function orRefused<T>(directory: string, open: () => T): T {
  try {
    return open();
  } catch (error) {
    throw new StoreRefused(
      `The store in ${directory} cannot be opened: ${errorText(error)}. Check that the directory belongs to ` +
        'the user that runs Signalbox, and that its files are those of a Signalbox store.',
      { cause: error },
    );
  }
}
