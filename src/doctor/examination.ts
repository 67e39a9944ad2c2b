/** All checks of `signalbox doctor`, in the order in which one look leads to the next. */
import { checkClock } from './clock.js';
import { checkConfigAccess } from './config-access.js';
import { checkDisk } from './disk.js';
import { checkFileLimit } from './file-limit.js';
import type { Check, Subject } from './check.js';
import type { Finding } from './finding.js';
import { checkNative } from './native.js';
import { checkPermissions } from './permissions.js';
import { checkPorts } from './ports.js';
import { checkReach } from './reach.js';
import { checkSecret } from './secret.js';
import { checkStore } from './store.js';
import { checkTls } from './tls.js';

const checks: readonly Check[] = [
  checkPermissions,
  checkConfigAccess,
  checkDisk,
  checkStore,
  checkSecret,
  checkClock,
  checkFileLimit,
  checkTls,
  checkPorts,
  checkNative,
];

export async function examine(subject: Subject): Promise<Finding[]> {
  const findings = await checkReach(subject);
  if (findings.length > 0) return findings;
  for (const check of checks) findings.push(...(await check(subject)));
  return findings;
}
