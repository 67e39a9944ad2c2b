/** Whether the store can be read, has the format of this version, and agrees with itself. */
import { fork } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { toIsoTime } from '../lib/clock.js';
import { perform } from '../admin/client.js';
import { asOwnerOf } from '../admin/owner.js';
import type { Settings } from '../settings.js';
import { isStoreDirectory, isUnfinishedBackup } from '../store/data-directory.js';
import { lockDirectory } from '../store/directory-lock.js';
import { storeFormat } from '../store/key-layout.js';
import { StoreRefused } from '../store/refusal.js';
import type { Check } from './check.js';
import { type Finding, reporter } from './finding.js';
import type { ExaminerMessage } from './store-examiner.js';
import type { StoreReport } from './store-walk.js';

const examiner = fileURLToPath(new URL('store-examiner.js', import.meta.url));
/** Clocks of two machines may differ by so much without harm. */
const skewMsMax = 10_000;
const restore =
  'Stop the gateway, keep this directory aside for a later look, and start from the newest backup ' +
  '(ops/backup.md tells how, and what to tell the bots).';
const report = reporter('store');

export const checkStore: Check = async ({ settings, clock, gatewayPid }) => {
  const { dataDir } = settings;
  // Said by the look at the permissions.
  if (!existsSync(dataDir)) return [];
  if (isUnfinishedBackup(dataDir)) {
    return [
      report.problem(
        `${dataDir} holds a backup that was cut off or is under way, and no store.`,
        'If no "signalbox backup" is writing it, delete it, and take another one.',
      ),
    ];
  }
  if (!isStoreDirectory(dataDir)) {
    return [
      report.problem(
        `${dataDir} holds no store.`,
        'Name the gateway’s own data directory with --data-dir; a new store is made by ' +
          '"signalbox serve" and "signalbox user add".',
      ),
    ];
  }
  if (gatewayPid !== undefined) return askGateway(settings, clock.now(), gatewayPid);
  const examination = await asOwnerOf(dataDir, () => examineAlone(dataDir));
  if (examination instanceof StoreRefused) {
    return [report.warning(examination.message, 'The store was not looked at: run this again.')];
  }
  const { message, signal, errors } = examination;
  if (message === undefined) {
    const how = signal === null ? errors.trim().split('\n').at(-1) : `it ended by ${signal}`;
    return [report.problem(`The store in ${dataDir} cannot be read to its end: ${how}.`, restore)];
  }
  if ('refusal' in message) return [report.problem(message.refusal, restore)];
  return judgeStore(message.report, clock.now());
};

/** @param by who has read it, if not this command. */
export function judgeStore(found: StoreReport, now: number, by = ''): Finding[] {
  const { records, users, damages, damageCount, halfImported, newestAt } = found;
  const rest = damageCount - damages.length;
  return [
    damageCount === 0
      ? report.ok(
          `The store has format ${storeFormat}; all ${records} records (users: ${users}) are read` +
            `${by} and agree with each other.`,
        )
      : report.problem(
          `${damageCount} of ${records} records are damaged: ${damages.join(' ')}` +
            (rest > 0 ? ` And ${rest} more.` : ''),
          restore,
        ),
    ...halfImported.map((userId) =>
      report.warning(
        `The import of user ${userId} was cut off or is under way; the user is not there yet.`,
        'Run "signalbox user import FILE" again, or give it up with "signalbox user import FILE ' +
          '--discard".',
      ),
    ),
    ...(newestAt > now + skewMsMax
      ? [
          report.warning(
            `The store holds a signal accepted at ${toIsoTime(newestAt)}, which is in the future: ` +
              'the clock was set back, or was wrong then.',
            'Look after the clock first; see the finding about it.',
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

/** The gateway has its store to itself, so it reads it for us. */
async function askGateway(settings: Settings, now: number, pid: number): Promise<Finding[]> {
  const found = await perform(settings, 'store.examine', {});
  if (!('refused' in found)) {
    return judgeStore(found, now, ` by the running gateway (process ${pid})`);
  }
  return [
    report.problem(
      `The store was not examined: ${found.message}`,
      'Bring the gateway back to work, or stop it, and run this again.',
    ),
  ];
}

/** In a process of its own, under the lock of the directory, so that no gateway opens it meanwhile. */
async function examineAlone(dataDir: string): Promise<Examination | StoreRefused> {
  try {
    const lock = await lockDirectory(dataDir, 'command');
    return await runExaminer(dataDir).finally(() => lock.release());
  } catch (error) {
    if (error instanceof StoreRefused) return error;
    throw error;
  }
}

function runExaminer(directory: string): Promise<Examination> {
  const child = fork(examiner, [directory], { stdio: ['ignore', 'ignore', 'pipe', 'ipc'] });
  let message: ExaminerMessage;
  let errors = '';
  child.on('message', (told: ExaminerMessage) => (message = told));
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (errors += text));
  return new Promise((resolve) => {
    child.on('close', (_code, signal) => resolve({ message, signal, errors }));
  });
}
