/** All checks of `signalbox doctor`, in the order in which one look leads to the next. */
import type { Clock } from '../lib/clock.js';
import type { Settings } from '../settings.js';
import { checkClock } from './clock.js';
import { checkDisk } from './disk.js';
import { checkFileLimit } from './file-limit.js';
import type { Finding } from './finding.js';
import { checkNative } from './native.js';
import { checkPermissions } from './permissions.js';
import { checkPorts } from './ports.js';
import { checkStore } from './store.js';
import { checkTls } from './tls.js';

export interface Subject {
  readonly settings: Settings;
  readonly clock: Clock;
  /** Process of the gateway that has the data directory; undefined when none has. */
  readonly gatewayPid: number | undefined;
}

export type Check = (subject: Subject) => Finding[] | Promise<Finding[]>;

const checks: readonly Check[] = [
  checkPermissions,
  checkDisk,
  checkStore,
  checkClock,
  checkFileLimit,
  checkTls,
  checkPorts,
  checkNative,
];

export async function examine(subject: Subject): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const check of checks) findings.push(...(await check(subject)));
  return findings;
}
