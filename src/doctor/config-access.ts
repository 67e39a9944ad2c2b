/** Whether the gateway’s user can read the config file: what root has made may be closed to it. */
import { closeSync, openSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { asOwnerOf } from '../admin/owner.js';
import type { Check } from './check.js';
import { reporter } from './finding.js';
import { closedAbove } from './reach.js';

const report = reporter('config');

export const checkConfigAccess: Check = async ({ settings: { dataDir }, configFile }) => {
  if (configFile === undefined) return [];
  if (await isReadable(configFile, dataDir)) {
    return [report.ok(`The owner of the data directory can read ${configFile}.`)];
  }
  const { uid, gid } = statSync(dataDir);
  const directory = dirname(configFile);
  const closed = await closedAbove(configFile, dataDir);
  if (closed !== undefined && closed !== resolve(directory)) {
    return [
      report.problem(
        `The owner of the data directory (user ${uid}) cannot reach ${configFile}: ${closed} is closed to that user.`,
        'Move it to a directory of its own, such as /etc/signalbox, that its group can read.',
      ),
    ];
  }
  // A directory that can be entered may be a shared one, such as /etc, and is left as it is.
  const remedy =
    closed === undefined
      ? `"chgrp ${gid} ${configFile}" and "chmod 640 ${configFile}"`
      : `"chgrp ${gid} ${directory} ${configFile}", "chmod 750 ${directory}" and "chmod 640 ${configFile}"`;
  return [
    report.problem(
      `The owner of the data directory (user ${uid}) cannot read ${configFile}.`,
      `Let its group read it: ${remedy}.`,
    ),
  ];
};

async function isReadable(path: string, dataDir: string): Promise<boolean> {
  try {
    await asOwnerOf(dataDir, () => closeSync(openSync(path, 'r')));
    return true;
  } catch {
    return false;
  }
}
