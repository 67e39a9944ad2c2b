/** Whether the gateway’s user can reach the data directory: one above it may be closed to that user. */
import { statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { asOwnerOf } from '../admin/owner.js';
import type { Check } from './check.js';
import { reporter } from './finding.js';

const report = reporter('permissions');

/** Gives no finding when all is well: the check of the permissions follows. */
export const checkReach: Check = async ({ settings: { dataDir } }) => {
  const closed = await closedAbove(dataDir, dataDir);
  if (closed === undefined) return [];
  const caller = process.geteuid?.();
  if (caller !== 0) {
    return [
      report.problem(
        `${dataDir} cannot be reached: ${closed} is closed to user ${caller}, which runs this command.`,
        'Run it as root or as the gateway’s user: nothing else was checked.',
      ),
    ];
  }
  return [
    report.problem(
      `The owner of ${dataDir} (user ${statSync(dataDir).uid}) cannot reach it: ${closed} is closed to that user.`,
      'Move it to a place that the gateway’s user can reach, such as /var/lib/signalbox, or let all users pass with ' +
        `"chmod o+x ${closed}", and run the doctor again: nothing else was checked.`,
    ),
  ];
};

/** @returns the outermost directory above the path that the owner of the data directory cannot enter. */
export function closedAbove(path: string, dataDir: string): Promise<string | undefined> {
  const above = directoriesAbove(resolve(path));
  return asOwnerOf(dataDir, () => above.find(isClosed));
}

function isClosed(directory: string): boolean {
  try {
    statSync(`${directory}/.`);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EACCES';
  }
}

/** The outermost first. */
function directoriesAbove(path: string): string[] {
  const above = dirname(path);
  return above === path ? [] : [...directoriesAbove(above), above];
}
