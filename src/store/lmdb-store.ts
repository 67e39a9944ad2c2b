/**
 * The store port over a log and an index. A write is durable, and readers see it, once its frame is in the
 * log; a thread of its own brings it into lmdb, the index, a moment later. Writes that the index lacks are
 * held in memory, bounded in bytes: beyond the bound, new writes wait for the index.
 */
import { chmodSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { assert } from '../lib/assert.js';
import { type Clock, systemClock } from '../lib/clock.js';
import { errorText } from '../lib/error-text.js';
import type { Histogram } from '../lib/instruments.js';
import { privateDirectoryMode, privateFileMode } from '../lib/private-modes.js';
import { dataFile, isCopy, unmarkCopy } from './data-directory.js';
import { createDiskReserve, type DiskSpace, readDiskSpace } from './disk-reserve.js';
import { FrameMemory } from './frame-memory.js';
import { FrameWriter } from './frame-writer.js';
import { GroupCommit } from './group-commit.js';
import { IndexFiller } from './index-filler.js';
import { IndexThread } from './index-thread.js';
import type { Collection, KeyOf, RecordOf } from './key-layout.js';
import { KnownGaps } from './known-gaps.js';
import { assertHolds, openDatabases } from './lmdb-index.js';
import { writeLogCopy } from './log/copy.js';
import { Log } from './log/log.js';
import type { Recovery } from './log/recovery.js';
import { openRecovered } from './open-recovered.js';
import { Overlay } from './overlay.js';
import { createReader } from './reader.js';
import { removeStagedCopies } from './staged-copy.js';
import {
  type Reader,
  type Store,
  StoreFailure,
  type TransactOptions,
  type Writer,
  WriteRefused,
} from './store.js';
import type { WriteGroup } from './write-group.js';

export interface StoreOptions {
  readonly clock?: Clock;
  /** Seconds from a group's first write until it is on disk. */
  readonly commitLatency?: Histogram;
  /** Seconds of a write of the log. */
  readonly flushLatency?: Histogram;
  /** Called after every commit: after a failure, no write is durable until a call without one. */
  readonly onCommit?: (failure: StoreFailure | undefined) => void;
  /** Called with what the last process left in the log, before the store is returned. */
  readonly onRecovered?: (recovery: Recovery) => void;
  /** Called for each failure to fill the index, which is tried again. */
  readonly onIndexFailed?: (reason: string) => void;
  /** URL of the module whose `createSweeper` makes the sweeper. Without it, nothing can be swept. */
  readonly sweeper?: string;
  /** Space on the disk of the directory; default: read from the system. */
  readonly diskSpace?: () => DiskSpace | undefined;
  /** Size of a file of the log. */
  readonly segmentBytes?: number;
  /** Bytes of writes that the index lacks, beyond which new writes wait. */
  readonly waitingBytesMax?: number;
  /** False to refuse a store of an earlier format rather than change it. */
  readonly takesOver?: boolean;
}

const segmentBytesShipped = 16 * 2 ** 20;
const waitingBytesShipped = 64 * 2 ** 20;
/** Versions dropped in one turn of the event loop; takes half a millisecond. */
const versionsPerTurn = 2_000;
/** With more versions in the overlay no gap is searched for, since a range goes through all of them. */
const versionsPerGapMax = 2_000;

/**
 * Opens the store in an existing directory, or makes a new one there. Throws `StoreRefused`. Only for the
 * process that holds the directory's lock: a second process that opens the store can undo commits of the first.
 */
export function openStore(directory: string, options: StoreOptions = {}): Store {
  removeStagedCopies(directory);
  const { clock = systemClock, diskSpace = () => readDiskSpace(directory) } = options;
  const { segmentBytes = segmentBytesShipped, waitingBytesMax = waitingBytesShipped } = options;
  const opened = openRecovered(directory, diskSpace(), options.takesOver ?? true);
  const { root, apply, files, found, logId, recovery } = opened;
  options.onRecovered?.(recovery);
  const databases = openDatabases(root);
  const reserve = createDiskReserve(clock, diskSpace);
  const overlay = new Overlay();
  const memory = new FrameMemory();
  let isCopied = isCopy(directory);
  let closed = false;
  let closing: Promise<void> | undefined;
  const copies = new Set<Promise<void>>();

  /** Writes that may use the reserve and are not on disk yet. */
  let urgent = 0;
  const refusal = (bytes?: number): WriteRefused | undefined =>
    urgent > 0 ? undefined : reserve.refusal(bytes);
  const log = new Log({ logId, files, segmentBytes, refusal }, found, recovery);
  /** Why nothing may be passed to lmdb now. A disk that fails the log fails lmdb, too: native-notes/lmdb.md. */
  const indexRefusal = (): StoreFailure | undefined => commits.failure ?? reserve.refusal();
  const thread = new IndexThread({ directory, sweeper: options.sweeper }, () => filler.position);
  const filler: IndexFiller = new IndexFiller(
    {
      clock,
      thread,
      refusal: indexRefusal,
      onApplied(groups) {
        // From here on readers see these groups in the index, not an older snapshot of it.
        root.resetReadTxn();
        // The log keeps these groups: their commit may be undone until the next one has found it in the index.
        log.release((groups[0] as WriteGroup).begin);
        drop(groups);
        commits.next();
      },
      onFailed(reason) {
        options.onIndexFailed?.(reason);
        assertIndexLives();
      },
    },
    recovery.end,
  );
  const commits: GroupCommit = new GroupCommit({
    clock,
    log,
    overlay,
    memory,
    // Not after a failure of the log: the index waits until a write of the log succeeds.
    isHeld: () => !closed && commits.failure === undefined && filler.waitingBytes > waitingBytesMax,
    // If another program has undone a commit, a retry of its writes would look new and be acknowledged twice.
    onBegin: () => assertHolds(databases.meta, filler.position),
    onFlushed: (group) => filler.add(group),
    // A write that may use the reserve does not prove that the disk has space again.
    onCommit: (failure) => options.onCommit?.(failure ?? reserve.refusal()),
    commitLatency: options.commitLatency,
    flushLatency: options.flushLatency,
  });

  const reading = { databases, overlay, assertOpen };
  const reader = createReader({ ...reading, seen: 'flushed' });
  const newest = createReader({ ...reading, seen: 'written' });
  const gaps = new KnownGaps({
    readers: [reader, newest],
    isDear: () => overlay.size > versionsPerGapMax,
  });
  const writer = new FrameWriter({ commits, memory, overlay, gaps });
  const transaction: Reader & Writer = {
    ...newest,
    put: (collection, key, record) => writer.put(collection, key, record),
    remove: (collection, key) => writer.remove(collection, key),
  };

  function assertOpen(): void {
    if (closed) throw closedFailure();
  }

  function get<C extends Collection>(collection: C, key: KeyOf<C>): RecordOf<C> | undefined {
    assertOpen();
    if (gaps.contain(collection, key)) return undefined;
    const record = reader.get(collection, key);
    if (record === undefined) gaps.missed(collection, key);
    return record;
  }

  /** Why nothing may be written now. */
  function refusalNow({ usesReserve = false }: TransactOptions = {}): WriteRefused | undefined {
    if (closed) return closedFailure();
    const refused =
      (usesReserve ? undefined : reserve.refusal()) ??
      (commits.bytes > waitingBytesMax ? indexBehind() : undefined);
    if (refused !== undefined) options.onCommit?.(refused);
    return refused;
  }

  /** The outcome of the writer's last run. One that put nothing has the outcome of what it has seen and follows. */
  function lastRunSettled(): Promise<void> {
    return (writer.group ?? commits.last)?.settled ?? Promise.resolve();
  }

  /** Drops groups that the index holds, some in each turn: they may have tens of thousands of versions. */
  function drop(groups: readonly WriteGroup[], from = 0): void {
    let versions = 0;
    let next = from;
    for (; next < groups.length && versions < versionsPerTurn; next++) {
      const group = groups[next] as WriteGroup;
      versions += group.versions.length;
      overlay.drop(group);
      memory.free(group.span);
    }
    if (next < groups.length) setImmediate(drop, groups, next);
  }

  /** Ends every part. Writes that the index still lacks are brought in here or, from the log, by the next open. */
  async function end(): Promise<void> {
    commits.next();
    await commits.idle();
    const lacking = await filler.close();
    await thread.end();
    await log.close();
    if (lacking.length > 0 && indexRefusal() === undefined) fillNow(lacking);
    // A copy reads what the close would free, so lmdb is closed after the copy, or ends with the process.
    const isClosed = Promise.allSettled(copies).then(() => root.close());
    if (copies.size === 0) await isClosed;
  }

  /** After a failure: throws, which ends the process, when lmdb has given up for good or has lost a commit. */
  function assertIndexLives(): void {
    root.resetReadTxn();
    assertHolds(databases.meta, filler.position);
  }

  function fillNow(groups: readonly WriteGroup[]): void {
    try {
      apply(
        groups.map(({ frame }) => frame),
        (groups.at(-1) as WriteGroup).end,
      );
    } catch {
      // As after a kill, the next open brings these frames in from the log.
    }
  }

  return {
    ...reader,
    get,

    write(fill) {
      const refused = refusalNow();
      if (refused !== undefined) return Promise.reject(refused);
      try {
        writer.run(fill);
      } catch (error) {
        return Promise.reject(error instanceof Error ? error : new Error(errorText(error)));
      }
      return lastRunSettled();
    },

    async transact<T>(
      work: (transaction: Reader & Writer) => T,
      transactOptions?: TransactOptions,
    ): Promise<T> {
      const refused = refusalNow(transactOptions);
      if (refused !== undefined) throw refused;
      const result = writer.run(() => {
        const made = work(transaction);
        assert(!(made instanceof Promise), 'the work of a transaction is synchronous');
        return made;
      });
      const isUrgent = transactOptions?.usesReserve === true;
      if (isUrgent) urgent++;
      try {
        await lastRunSettled();
      } finally {
        if (isUrgent) urgent--;
      }
      return result;
    },

    async sweep(order) {
      const refused = refusalNow() ?? commits.failure;
      if (refused !== undefined) throw refused;
      return new Promise((resolve, reject) => {
        thread.ask({ sweep: order }, (answer) => {
          if (!('swept' in answer)) {
            assertIndexLives();
            const why = 'failure' in answer ? answer.failure : 'it was not asked for';
            return reject(new StoreFailure(`the index could not be swept: ${why}`));
          }
          root.resetReadTxn();
          resolve(answer);
        });
      });
    },

    async backup(target) {
      assertOpen();
      // lmdb makes a copy that other users can read, so the directory is made private first.
      chmodSync(target, privateDirectoryMode);
      const first = await filler.settled();
      assertOpen();
      const copy = root.backup(target, false);
      copies.add(copy);
      await copy.finally(() => copies.delete(copy));
      chmodSync(join(target, dataFile), privateFileMode);
      writeLogCopy(target, { logId, first, sequence: log.sequence });
    },

    isCopy: () => isCopied,

    endCopy() {
      unmarkCopy(directory);
      isCopied = false;
    },

    refusal: refusalNow,
    commitAgeMs: () => commits.ageMs(),
    index: () => ({
      lagMs: filler.lagMs(),
      waitingBytes: filler.waitingBytes,
      failure: filler.failure,
    }),
    sizeBytes: () => statSync(join(directory, dataFile)).size + filler.waitingBytes,

    close() {
      closed = true;
      closing ??= end();
      return closing;
    },
  };
}

function closedFailure(): WriteRefused {
  return new WriteRefused('the store is closed');
}

function indexBehind(): WriteRefused {
  return new WriteRefused(
    'the index is behind the log, and the memory for the commits that it lacks is full',
  );
}
