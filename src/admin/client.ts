/**
 * Has an operation carried out by the process that owns the data directory: by the gateway that runs on
 * it, or here, under the directory's lock, when none does. What a command asks for has taken effect
 * when this resolves.
 */
import { existsSync } from 'node:fs';
import { setTimeout as rest } from 'node:timers/promises';
import { systemClock } from '../lib/clock.js';
import { isStoreDirectory, prepareDataDirectory } from '../store/data-directory.js';
import {
  busyMessage,
  type Holder,
  lockLookMs,
  lockWaitMs,
  tryLockDirectory,
} from '../store/directory-lock.js';
import { StartRefused } from '../store/refusal.js';
import { StoreFailure } from '../store/store.js';
import { converse, type Ending, type RowSource } from './conversation.js';
import type { Operation, OperationContext, Rows } from './operation.js';
import { operations, type ResultOf } from './operations.js';
import { asOwnerOf } from './owner.js';
import type { OperationName, RequestOf } from './requests.js';

/** The operation was not begun, or its end is not known. */
export interface NotPerformed {
  readonly refused: 'not_performed';
  readonly code: string;
  /** Complete sentences, the last of which is the remedy. */
  readonly message: string;
}

export interface PerformOptions extends RowSource {
  /** Told when the data directory was open to others. */
  readonly warn?: (warning: string) => void;
}

export async function perform<N extends OperationName>(
  settings: OperationContext['settings'],
  name: N,
  request: RequestOf<N>,
  options: PerformOptions = {},
): Promise<ResultOf<N> | NotPerformed> {
  const { dataDir } = settings;
  try {
    const result = await asOwnerOf(dataDir, () => attempt(settings, name, request, options));
    return result as ResultOf<N> | NotPerformed;
  } catch (error) {
    if (error instanceof StartRefused) return notPerformed('data_directory_refused', error.message);
    if (error instanceof StoreFailure) return storeFailed(dataDir, error.message);
    throw error;
  }
}

async function attempt(
  settings: OperationContext['settings'],
  name: OperationName,
  request: unknown,
  options: PerformOptions,
): Promise<unknown> {
  const { dataDir } = settings;
  const { makesDirectory, refuse } = operations[name] as Operation<unknown>;
  if (!isStoreDirectory(dataDir)) {
    if (makesDirectory !== true) return noStore(dataDir);
    const refusal = refuse?.(settings, request);
    if (refusal !== undefined) return refusal;
  }
  if (makesDirectory === true) {
    const warning = prepareDataDirectory(dataDir);
    if (warning !== undefined) options.warn?.(warning);
  }
  const end = systemClock.monotonic() + lockWaitMs;
  for (;;) {
    const held = tryLockDirectory(dataDir, 'command');
    if ('release' in held) {
      try {
        const { performLocally } = await import('./local.js');
        return (
          refuse?.(settings, request) ??
          (await performLocally(settings, name, request, rowsHere(options)))
        );
      } finally {
        held.release();
      }
    }
    if (held.role === 'gateway') {
      const ending = await converse(dataDir, name, request, options);
      if (!isToComeBack(ending)) return answerOf(dataDir, held, ending);
    }
    if (systemClock.monotonic() >= end) return stillHeld(dataDir, held);
    await rest(lockLookMs);
  }
}

/** Nothing was begun, and either the gateway or the lock will be there soon. */
function isToComeBack(ending: Ending): boolean {
  if (ending.how === 'error') return ending.code === 'draining';
  return ending.how === 'absent' || (ending.how === 'broken' && !ending.isAccepted);
}

function rowsHere({ onRow, rows = [] }: RowSource): Rows {
  const given =
    Symbol.asyncIterator in rows ? rows[Symbol.asyncIterator]() : rows[Symbol.iterator]();
  return {
    async send(row) {
      await onRow?.(row);
      return true;
    },
    async next() {
      const next: IteratorResult<unknown> = await given.next();
      return next.done === true ? 'end' : { row: next.value };
    },
  };
}

function answerOf(dataDir: string, { pid }: Holder, ending: Ending): unknown {
  if (ending.how === 'result') return ending.result;
  const gateway = `The gateway of ${dataDir} (process ${pid})`;
  if (ending.how === 'error') {
    const { code, message } = ending;
    if (code === 'store_failed') return storeFailed(dataDir, message);
    if (code !== 'other_version')
      return notPerformed(code, `${gateway} refused the command: ${message}`);
    return notPerformed(
      code,
      `${gateway} is of another version than this command. ${message} Run the command of the ` +
        'gateway’s version, or restart the gateway with this one.',
    );
  }
  const remedy =
    'Look whether it is suspended or overloaded, and see its log; end it if it does not come back.';
  if ('isAccepted' in ending && ending.isAccepted) {
    return notPerformed(
      'outcome_unknown',
      `${gateway} took the command and has not said how it ended. Look whether it is in effect. ${remedy}`,
    );
  }
  return notPerformed('gateway_silent', `${gateway} does not answer. ${remedy}`);
}

function stillHeld(dataDir: string, { pid, role }: Holder): NotPerformed {
  if (role === 'command') return notPerformed('data_directory_busy', busyMessage(dataDir, pid));
  return notPerformed(
    'gateway_silent',
    `The gateway of ${dataDir} (process ${pid}) takes no commands: it has been starting or ending for ` +
      `${lockWaitMs / 1000} seconds. See its log, and try again.`,
  );
}

function storeFailed(dataDir: string, reason: string): NotPerformed {
  return notPerformed(
    'store_failed',
    `The change could not be written: ${reason}. Look whether the disk that holds ` +
      `${dataDir} is full or broken, and then whether the change was made after all.`,
  );
}

function noStore(dataDir: string): NotPerformed {
  const finding = existsSync(dataDir)
    ? `The directory ${dataDir} holds no Signalbox store.`
    : `There is no data directory ${dataDir}.`;
  return notPerformed(
    'no_data_directory',
    `${finding} Give the gateway's own with --data-dir or SIGNALBOX_DATA_DIR; a new one is made by ` +
      '"signalbox serve" and "signalbox user add".',
  );
}

function notPerformed(code: string, message: string): NotPerformed {
  return { refused: 'not_performed', code, message };
}
