/**
 * Performs an operation in the process that owns the data directory: in the gateway that runs on it, or
 * here, under the directory's lock, when none does. The operation has taken effect when this resolves.
 */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as rest } from 'node:timers/promises';
import { systemClock } from '../lib/clock.js';
import { errorText } from '../lib/error-text.js';
import { isDirectory } from '../lib/is-directory.js';
import { dataFile, isStoreDirectory, prepareDataDirectory } from '../store/data-directory.js';
import {
  busyMessage,
  type Holder,
  lockLookMs,
  lockWaitMs,
  tryLockDirectory,
} from '../store/directory-lock.js';
import { StartRefused } from '../store/refusal.js';
import { StoreFailure } from '../store/store.js';
import { connectionsMax } from './protocol.js';
import { converse, type Ending, type RowSource } from './conversation.js';
import type { Operation, OperationContext, Rows } from './operation.js';
import type { ResultOf } from './operations.js';
import { asCaller, asOwnerOf } from './owner.js';
import type { OperationName, RequestOf } from './requests.js';
import type { Settings } from '../settings.js';

/** Operations that make the data directory where there is none. */
const directoryMakers: ReadonlySet<OperationName> = new Set(['user.add', 'user.import']);

/** Operations that change nothing: one whose answer is lost is asked again, and there is no effect to look for. */
const readers: ReadonlySet<OperationName> = new Set([
  'user.list',
  'user.show',
  'session.list',
  'key.list',
  'signal.list',
  'signal.show',
  'store.copy',
]);

/** The operation was not begun, or its outcome is not known. */
export interface NotPerformed {
  readonly refused: 'not_performed';
  readonly code: string;
  /** Complete sentences, the last of which is the remedy. */
  readonly message: string;
}

/** Only the data directory has to be right where a gateway runs: it performs operations with settings of its own. */
export type CallerSettings = OperationContext['settings'] & Pick<Settings, 'mistakes'>;

export interface PerformOptions extends RowSource {
  /** Called when the data directory was open to other users, and for each mistake in the settings. */
  readonly warn?: (warning: string) => void;
}

export async function perform<N extends OperationName>(
  settings: CallerSettings,
  name: N,
  request: RequestOf<N>,
  options: PerformOptions = {},
): Promise<ResultOf<N> | NotPerformed> {
  const { dataDir } = settings;
  try {
    const result = await asOwnerOf(dataDir, () =>
      attempt(settings, name, request, { ...options, ...byCaller(options) }),
    );
    return result as ResultOf<N> | NotPerformed;
  } catch (error) {
    if (error instanceof StartRefused) return notPerformed('data_directory_refused', error.message);
    if (error instanceof StoreFailure) return storeFailed(dataDir, error.message);
    throw error;
  }
}

async function attempt(
  settings: CallerSettings,
  name: OperationName,
  request: unknown,
  options: PerformOptions,
): Promise<unknown> {
  const { dataDir, mistakes } = settings;
  const mistaken =
    mistakes.length > 0 ? notPerformed('invalid_settings', mistakes.join('\n')) : undefined;
  const makesDirectory = directoryMakers.has(name);
  if (!isStoreDirectory(dataDir)) {
    if (mistaken !== undefined) return mistaken;
    if (!makesDirectory) return noStore(dataDir);
    const { operations } = await import('./operations.js');
    const { refuse } = operations[name] as Operation<unknown>;
    const refusal = refuse?.(settings, request);
    if (refusal !== undefined) return refusal;
  }
  if (makesDirectory) {
    const warning = prepareDataDirectory(dataDir);
    if (warning !== undefined) options.warn?.(warning);
  }
  const end = systemClock.monotonic() + lockWaitMs;
  let isCutOff = false;
  for (;;) {
    const held = tryLockDirectory(dataDir, 'command');
    if ('release' in held) {
      try {
        if (mistaken !== undefined) return mistaken;
        // The operations are only loaded where no gateway carries them out.
        const { performLocally } = await import('./local.js');
        return await performLocally(settings, name, request, rowsHere(options));
      } finally {
        held.release();
      }
    }
    if (held.role === 'gateway') {
      const ending = await converse(dataDir, name, request, options);
      if (!isToRetry(ending)) {
        for (const mistake of mistakes) options.warn?.(`A gateway would not start: ${mistake}`);
        return answerOf(dataDir, held, name, ending);
      }
      isCutOff = ending.how === 'broken';
    }
    if (systemClock.monotonic() >= end) return stillHeld(dataDir, held, isCutOff);
    await rest(lockLookMs);
  }
}

/** The rows are files of the caller, which the owner of the data directory may not be able to open. */
function byCaller({ onRow, rows }: RowSource): RowSource {
  return {
    ...(onRow === undefined ? {} : { onRow: (row) => asCaller(() => onRow(row)) }),
    ...(rows === undefined ? {} : { rows: rowsByCaller(rows) }),
  };
}

function rowsByCaller(rows: NonNullable<RowSource['rows']>): AsyncIterable<unknown> {
  const given = iteratorOf(rows);
  const next = () => asCaller(() => given.next());
  return { [Symbol.asyncIterator]: () => ({ next }) };
}

function iteratorOf(
  rows: NonNullable<RowSource['rows']>,
): AsyncIterator<unknown> | Iterator<unknown> {
  return Symbol.asyncIterator in rows ? rows[Symbol.asyncIterator]() : rows[Symbol.iterator]();
}

/** Nothing was begun, and either the gateway or the lock will be available soon. */
function isToRetry(ending: Ending): boolean {
  if (ending.how === 'error') return ending.code === 'draining';
  return ending.how === 'absent' || (ending.how === 'broken' && !ending.isAccepted);
}

function rowsHere({ onRow, rows = [] }: RowSource): Rows {
  const given = iteratorOf(rows);
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

function answerOf(dataDir: string, { pid }: Holder, name: OperationName, ending: Ending): unknown {
  if (ending.how === 'result') return ending.result;
  const gateway = `The gateway of ${dataDir} (process ${pid})`;
  if (ending.how === 'error') {
    const { code, message } = ending;
    if (code === 'store_failed') return storeFailed(dataDir, message);
    if (code !== 'other_version')
      return notPerformed(code, `${gateway} refused the command: ${message}`);
    return notPerformed(
      code,
      `${gateway} has another version than this command. ${message} Run the command of the ` +
        'gateway’s version, or restart the gateway with this one.',
    );
  }
  const remedy =
    'Check whether the gateway is suspended or overloaded, and read its log; end it if it does not recover.';
  if ('isAccepted' in ending && ending.isAccepted) {
    const isReader = readers.has(name);
    const rest =
      ending.how === 'broken'
        ? `: it has ended, or has cut the command off. ${isReader ? 'The command changes nothing: run it again.' : 'Check whether the command is in effect, and read the log of the gateway.'}`
        : `.${isReader ? '' : ' Check whether the command is in effect.'} ${remedy}`;
    return notPerformed(
      'outcome_unknown',
      `${gateway} accepted the command and has not reported its outcome${rest}`,
    );
  }
  return notPerformed(
    'gateway_silent',
    `${gateway} does not answer, and the command has had no effect so far. ${remedy}`,
  );
}

/** @param isCutOff whether the gateway closed the connection; if none could be made, it starts or ends. */
function stillHeld(dataDir: string, { pid, role }: Holder, isCutOff: boolean): NotPerformed {
  if (role === 'command') return notPerformed('data_directory_busy', busyMessage(dataDir, pid));
  const seconds = lockWaitMs / 1000;
  const reason = isCutOff
    ? `for ${seconds} seconds it has closed each connection at once. It may have used up its open files (LimitNOFILE), or ${connectionsMax} other commands may be connected to it: end those that are suspended.`
    : `it has been starting or ending for ${seconds} seconds.`;
  return notPerformed(
    'gateway_silent',
    `The gateway of ${dataDir} (process ${pid}) takes no commands: ${reason} See its log, and try again.`,
  );
}

function storeFailed(dataDir: string, reason: string): NotPerformed {
  return notPerformed(
    'store_failed',
    `The change could not be written: ${reason}. Check whether the disk that holds ` +
      `${dataDir} is full or broken, and then whether the change was made.`,
  );
}

function noStore(dataDir: string): NotPerformed {
  try {
    if (isDirectory(dataDir)) statSync(join(dataDir, dataFile), { throwIfNoEntry: false });
  } catch (error) {
    return notPerformed(
      'data_directory_refused',
      `The data directory ${dataDir} cannot be read: ${errorText(error)}. Run the command as root or as the ` +
        'user that the gateway runs as.',
    );
  }
  const finding = isDirectory(dataDir)
    ? `The directory ${dataDir} holds no Signalbox store.`
    : `There is no data directory ${dataDir}.`;
  return notPerformed(
    'no_data_directory',
    `${finding} Give the gateway's own with --data-dir or SIGNALBOX_DATA_DIR; ` +
      '"signalbox serve" and "signalbox user add" make a new one.',
  );
}

function notPerformed(code: string, message: string): NotPerformed {
  return { refused: 'not_performed', code, message };
}
