/**
 * Runs a command's work on the store of the data directory, whether or not a gateway runs on it, and
 * closes it again, whatever happens.
 */
import { existsSync } from 'node:fs';
import { type Clock, systemClock } from '../lib/clock.js';
import type { Settings } from '../settings.js';
import { prepareDataDirectory } from '../store/data-directory.js';
import { isStoreDirectory, openStore } from '../store/lmdb-store.js';
import { StartRefused } from '../store/refusal.js';
import { type Store, StoreFailure } from '../store/store.js';
import { finish, type Outcome, refused, settingsFor, type SharedOptions } from './command.js';

export interface StoreWork {
  readonly store: Store;
  readonly settings: Settings;
  readonly clock: Clock;
}

type Work = (on: StoreWork) => Outcome | Promise<Outcome>;

export async function onStore(options: SharedOptions, work: Work): Promise<void> {
  const settings = settingsFor(options);
  if (settings !== undefined) finish(await withStore(settings, work), options);
}

/** @param whenMissing whether a data directory that does not exist yet is made. */
export async function withStore(
  settings: Settings,
  work: Work,
  whenMissing: 'refuse' | 'create' = 'refuse',
): Promise<Outcome> {
  const { dataDir } = settings;
  let store: Store | undefined;
  try {
    if (whenMissing === 'create') {
      const warning = prepareDataDirectory(dataDir);
      if (warning !== undefined) process.stderr.write(`${warning}\n`);
    } else if (!isStoreDirectory(dataDir)) return noStore(dataDir);
    store = openStore(dataDir);
    return await work({ store, settings, clock: systemClock });
  } catch (error) {
    if (error instanceof StartRefused) return refused('data_directory_refused', error.message);
    if (error instanceof StoreFailure) {
      return refused(
        'store_failed',
        `The change could not be written: ${error.message}. Look whether the disk that holds ` +
          `${dataDir} is full or broken, and then whether the change was made after all.`,
      );
    }
    throw error;
  } finally {
    await store?.close();
  }
}

function noStore(dataDir: string): Outcome {
  const finding = existsSync(dataDir)
    ? `The directory ${dataDir} holds no Signalbox store.`
    : `There is no data directory ${dataDir}.`;
  return refused(
    'no_data_directory',
    `${finding} Give the gateway's own with --data-dir or SIGNALBOX_DATA_DIR; a new one is made by ` +
      '"signalbox serve" and "signalbox user add".',
  );
}
