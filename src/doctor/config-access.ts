/** Whether the gateway’s user can read the config file: what root has made may be closed to it. */
import { closeSync, openSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { asOwnerOf } from '../admin/owner.js';
import type { Check } from './check.js';
import { reporter } from './finding.js';

const report = reporter('config');

export const checkConfigAccess: Check = async ({ settings: { dataDir }, configFile }) => {
  if (configFile === undefined) return [];
  if (await isAllowed(dataDir, () => closeSync(openSync(configFile, 'r')))) {
    return [report.ok(`The owner of the data directory can read ${configFile}.`)];
  }
  const { uid, gid } = statSync(dataDir);
  const directory = dirname(configFile);
  // One that can be entered may be everybody's, such as /etc.
  const remedy = (await isAllowed(dataDir, () => void statSync(configFile)))
    ? `"chgrp ${gid} ${configFile}" and "chmod 640 ${configFile}"`
    : `"chgrp ${gid} ${directory} ${configFile}", "chmod 750 ${directory}" and "chmod 640 ${configFile}"`;
  return [
    report.problem(
      `The owner of the data directory (user ${uid}) cannot read ${configFile}.`,
      `Let its group read it: ${remedy}.`,
    ),
  ];
};

async function isAllowed(dataDir: string, access: () => void): Promise<boolean> {
  try {
    await asOwnerOf(dataDir, () => Promise.resolve(access()));
    return true;
  } catch {
    return false;
  }
}
