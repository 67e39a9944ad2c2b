/**
 * Whether a store can be read by this version: its mark, `meta.format`, is written once, when the store is new, and
 * checked at every open.
 */
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { RootDatabase } from 'lmdb';
import { syncDirectory } from '../lib/durable-file.js';
import { randomHex } from '../lib/ids.js';
import { privateDirectoryMode } from '../lib/private-modes.js';
import { isSettled } from '../model/execution.js';
import { dataFile } from './data-directory.js';
import { storeFormat } from './key-layout.js';
import { openDatabase, positionKey } from './lmdb-index.js';
import type { IndexPlace } from './log/recovery.js';
import { logIdLength } from './log/segment.js';
import { logDirectory } from './log/segment-files.js';
import { recordOfText } from './record-text.js';
import { FormerFormat, OtherFormat, StoreRefused } from './refusal.js';

const metaName = 'meta';
const formatKey = 'format';
const logIdKey = 'log:id';
const unknownListedKey = 'unknown:listed';
/** The format in which every write was a commit of lmdb, and the records are JSON objects. */
const formatWithoutLog = '1';

/**
 * Marks a new store, or one of the format without a log, and makes an empty log for it. To be called before
 * any other use of the store, while nothing else has it open.
 * @param takesOver whether a store of the format without a log may be changed.
 * @returns which log the store is the index of, and how far. Throws `StoreRefused` when the store cannot
 * be read by this version.
 */
export function claimFormat(root: RootDatabase, directory: string, takesOver: boolean): IndexPlace {
  const names = [...root.getKeys()];
  if (names.length > 0 && !names.includes(metaName)) {
    throw new StoreRefused(
      `The store in ${directory} was not written by Signalbox: it has no format mark. ` +
        'Give another data directory.',
    );
  }
  const meta = openDatabase(root, metaName);
  const found = meta.get(formatKey);
  // A first open that was cut off may leave an empty `meta` and nothing else: the store is still new.
  const isNew = found === undefined && names.every((name) => name === metaName);
  const logPath = join(directory, logDirectory);
  if (found === formatWithoutLog && !takesOver) {
    throw new FormerFormat(
      `The store in ${directory} has format ${found}; the first start of this version, or another command of it, ` +
        `makes it one of format ${storeFormat}. Nothing was changed yet.`,
    );
  }
  if (isNew || found === formatWithoutLog) {
    mkdirSync(logPath, { recursive: true, mode: privateDirectoryMode });
    syncDirectory(directory);
    root.transactionSync(() => {
      meta.putSync(logIdKey, JSON.stringify(randomHex(logIdLength / 2)));
      meta.putSync(positionKey, '0');
      meta.putSync(formatKey, String(storeFormat));
    });
  } else if (found !== String(storeFormat)) {
    const Refusal = found === undefined ? StoreRefused : OtherFormat;
    throw new Refusal(
      `The store in ${directory} has format ${found ?? 'none'}; this version of Signalbox reads and ` +
        `writes format ${storeFormat}. Start the version that wrote it, or give another data directory.`,
    );
  }
  if (!existsSync(logPath)) throw new StoreRefused(withoutLog(logPath));
  return {
    logId: JSON.parse(meta.get(logIdKey) ?? '""') as string,
    position: Number(meta.get(positionKey)),
  };
}

/**
 * Fills `unknownOrders`, where alone an unknown execution is found. Done once in the life of a store: some earlier
 * versions listed only orders, or nothing from before the format with a log. To be called when the index has all of
 * the log.
 */
export function listUnknown(root: RootDatabase): void {
  const meta = openDatabase(root, metaName);
  if (meta.get(unknownListedKey) !== undefined) return;
  const finals = openDatabase(root, 'finalExecutions');
  const unknown = openDatabase(root, 'unknownOrders');
  root.transactionSync(() => {
    for (const { key, value } of finals.getRange()) {
      // Most have another status, and reading a record takes longer than a look at its text.
      if (!value.includes('"unknown"')) continue;
      const execution = recordOfText('finalExecutions', key as [string, string], value);
      if (isSettled(execution) && execution.status === 'unknown')
        unknown.putSync(key, String(execution.updatedAt));
    }
    meta.putSync(unknownListedKey, '1');
  });
}

function withoutLog(path: string): string {
  return (
    `The directory ${path} is missing. It holds acknowledged writes that ${dataFile} lacks. Put it ` +
    'back; if it is lost, start from the newest backup (ops/backup.md tells how).'
  );
}
