/** Whether the wall clock can be right: TTLs, tokens and the daily quota depend on it. */
import { spawnSync } from 'node:child_process';
import { toIsoTime } from '../lib/clock.js';
import type { Check } from './check.js';
import { type Finding, reporter } from './finding.js';

/** Signalbox did not exist before, and nobody will run this version after. */
const saneYears = { from: 2025, to: 2100 } as const;
const questionTimeoutMs = 2_000;
const remedy =
  'Let a time service run (systemd-timesyncd or chrony), and see with "timedatectl" that the clock ' +
  'is synchronized: with a wrong clock, valid signals are refused.';
const report = reporter('clock');

export const checkClock: Check = ({ clock }) => [judgeClock(clock.now(), isSynchronized())];

/** @param isInTime undefined when the system does not tell. */
export function judgeClock(now: number, isInTime: boolean | undefined): Finding {
  const shown = `The clock says ${toIsoTime(now)}`;
  const year = new Date(now).getUTCFullYear();
  if (year < saneYears.from || year > saneYears.to) {
    return report.problem(`${shown}, which cannot be right.`, remedy);
  }
  if (isInTime === undefined) {
    return report.ok(`${shown}; the system does not tell whether it is synchronized.`);
  }
  if (!isInTime) return report.warning(`${shown}, and is not synchronized.`, remedy);
  return report.ok(`${shown}, and is synchronized.`);
}

/** The kernel knows, whichever service keeps the time; `timedatectl` shows it where there is systemd. */
function isSynchronized(): boolean | undefined {
  const { status, stdout } = spawnSync(
    'timedatectl',
    ['show', '--property=NTPSynchronized', '--value'],
    { encoding: 'utf8', timeout: questionTimeoutMs },
  );
  return status === 0 ? stdout.trim() === 'yes' : undefined;
}
