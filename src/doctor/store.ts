/** Whether the store can be read, has the format of this version, and is consistent. */
import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { toIsoTime } from '../lib/clock.js';
import { asOwnerOf } from '../admin/owner.js';
import { isDirectory } from '../lib/is-directory.js';
import { withStoreCopy } from '../admin/store-copy.js';
import type { Settings } from '../settings.js';
import {
  isStoreDirectory,
  isUnfinishedBackup,
  lacksData,
  withoutData,
} from '../store/data-directory.js';
import { type DirectoryLock, lockDirectory } from '../store/directory-lock.js';
import { storeFormat } from '../store/key-layout.js';
import { StoreRefused } from '../store/refusal.js';
import type { Check } from './check.js';
import { type Finding, reporter } from './finding.js';
import { accessFault } from './store-access.js';
import type { ExaminerMessage, RefusalCause } from './store-examiner.js';
import type { StoreReport } from './store-walk.js';

const examiner = fileURLToPath(new URL('store-examiner.js', import.meta.url));
/** Clocks of two machines may differ by so much without harm. */
const skewMsMax = 10_000;
const restore =
  'Stop the gateway, keep this directory for a later analysis, and start from the newest backup ' +
  '(ops/backup.md tells how, and what to tell the bots).';
const mendPermissions =
  'Correct the permissions first, as the finding about them says, and run the doctor again.';
/** By which somebody, or the kernel for lack of memory, ends a process; a damaged page ends it by others. */
const endSignals: ReadonlySet<string> = new Set(['SIGHUP', 'SIGINT', 'SIGKILL', 'SIGTERM']);
const report = reporter('store');
const refusals: Readonly<Record<RefusalCause, (refusal: string) => Finding>> = {
  damage: (refusal) => report.problem(refusal, restore),
  space: (refusal) =>
    report.problem(refusal, 'Make room first. The gateway can start then, and has lost nothing.'),
  access: (refusal) => notExamined(refusal, mendPermissions),
  former_format: (refusal) =>
    notExamined(
      refusal,
      'Examine the store with the version that wrote it, and make a backup with that version: it cannot read the store after an upgrade.',
    ),
  other_format: (refusal) =>
    notExamined(refusal, 'Examine the store with the version that wrote it.'),
};

export const checkStore: Check = async ({ settings, clock, gatewayPid }) => {
  const { dataDir } = settings;
  // Reported by the check of the permissions.
  if (!isDirectory(dataDir)) return [];
  const fault = accessFault(dataDir);
  if (fault !== undefined) {
    return [notExamined(`${fault}.`, mendPermissions)];
  }
  if (isUnfinishedBackup(dataDir)) {
    return [
      report.problem(
        `${dataDir} holds a backup that was cut off or is under way, and no store.`,
        'If no "signalbox backup" is writing it, delete it, and make another backup.',
      ),
    ];
  }
  if (lacksData(dataDir)) return [refusals.damage(withoutData(dataDir))];
  if (!isStoreDirectory(dataDir)) {
    return [
      report.problem(
        `${dataDir} holds no store.`,
        'Give the gateway’s own data directory with --data-dir; "signalbox serve" and "signalbox user add" ' +
          'make a new store.',
      ),
    ];
  }
  const examination =
    gatewayPid === undefined ? await examineAlone(dataDir) : await examineCopy(settings);
  if ('unexamined' in examination) {
    const { unexamined, level } = examination;
    return [notExamined(unexamined, 'Follow the advice above, and run the doctor again.', level)];
  }
  return judgeExamination(dataDir, examination, clock.now(), gatewayPid);
};

function notExamined(
  reason: string,
  remedy: string,
  level: 'warning' | 'problem' = 'warning',
): Finding {
  return report[level](`The records were not examined: ${reason}`, remedy);
}

function judgeExamination(
  dataDir: string,
  { message, signal, errors }: Examination,
  now: number,
  gatewayPid: number | undefined,
): Finding[] {
  if (message === undefined && signal !== null && endSignals.has(signal)) {
    return [
      notExamined(
        `the process that reads them was ended by ${signal}.`,
        'Run the doctor again. If nobody ended it, the kernel did, for lack of memory: see "journalctl -k".',
        // ops/backup.sh must not take a backup for whole that nobody has read.
        'problem',
      ),
    ];
  }
  if (message === undefined) {
    const how = signal === null ? errors.trim().split('\n').at(-1) : `it ended by ${signal}`;
    return [report.problem(`The store in ${dataDir} cannot be read to its end: ${how}.`, restore)];
  }
  if ('refusal' in message) {
    return [refusals[message.cause](message.refusal)];
  }
  const of =
    gatewayPid === undefined
      ? ''
      : ` in a copy made by the running gateway (process ${gatewayPid})`;
  return judgeStore(message.report, now, of);
}

/** @param of which copy was read, if it was one. */
export function judgeStore(found: StoreReport, now: number, of = ''): Finding[] {
  const { records, users, damages, damageCount, halfImported, newestAt } = found;
  const rest = damageCount - damages.length;
  return [
    damageCount === 0
      ? report.ok(
          `The store has format ${storeFormat}; all ${records} records (users: ${users}) are read` +
            `${of} and agree with each other.`,
        )
      : report.problem(
          `${damageCount} of ${records} records are damaged: ${damages.join(' ')}` +
            (rest > 0 ? ` And ${rest} more.` : ''),
          restore,
        ),
    ...halfImported.map((userId) =>
      report.warning(
        `The import of user ${userId} was cut off or is under way; the user is not visible yet.`,
        'Run "signalbox user import FILE" again, or give it up with "signalbox user import FILE ' +
          '--discard".',
      ),
    ),
    ...(newestAt > now + skewMsMax
      ? [
          report.warning(
            `The store holds a signal accepted at ${toIsoTime(newestAt)}, which is in the future: ` +
              'the clock was set back, or was wrong then.',
            'Correct the clock first; see the finding about it.',
          ),
        ]
      : []),
  ];
}

interface Examination {
  readonly message: ExaminerMessage;
  readonly signal: string | null;
  readonly errors: string;
}

interface Unexamined {
  readonly unexamined: string;
  /** Given where more is wrong than a lack of space or of the lock. */
  readonly level?: 'problem';
}

/** A damaged page would end the gateway that reads it, so a copy of its store is examined. */
async function examineCopy(settings: Settings): Promise<Examination | Unexamined> {
  const copy = await withStoreCopy(settings, (directory) => runExaminer(directory));
  if (!('refused' in copy)) return copy.used;
  if (copy.refused === 'copy_refused') return { unexamined: copy.reason };
  if (copy.refused === 'not_performed') return { unexamined: copy.message, level: 'problem' };
  return { unexamined: `The gateway refused a copy of its store (${copy.refused}).` };
}

/** In a process of its own, under the lock of the directory, so that no gateway opens it meanwhile. */
async function examineAlone(dataDir: string): Promise<Examination | Unexamined> {
  try {
    const lock = await asOwnerOf(dataDir, () => lockDirectory(dataDir, 'command'));
    return await runExaminer(dataDir, lock).finally(() => lock.release());
  } catch (error) {
    if (error instanceof StoreRefused) return { unexamined: error.message };
    throw error;
  }
}

/** @param lock of the directory. The examiner holds it too: a killed doctor must not free it under an open store. */
function runExaminer(directory: string, lock?: DirectoryLock): Promise<Examination> {
  const inherited = lock === undefined ? [] : [lock.file];
  const child = fork(examiner, [directory], {
    stdio: ['ignore', 'ignore', 'pipe', 'ipc', ...inherited],
  });
  if (child.pid !== undefined) lock?.nameHolder(child.pid);
  let message: ExaminerMessage;
  let errors = '';
  child.on('message', (told: ExaminerMessage) => (message = told));
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (errors += text));
  return new Promise((resolve) => {
    child.on('close', (_code, signal) => resolve({ message, signal, errors }));
  });
}
