/** Whether the gateway’s user can read the config file: what root has made may be closed to it. */
import { closeSync, openSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { asOwnerOf } from '../admin/owner.js';
import type { Check } from './check.js';
import { reporter } from './finding.js';

const report = reporter('config');

export const checkConfigAccess: Check = async ({ settings: { dataDir }, configFile }) => {
  if (configFile === undefined) return [];
  try {
    await asOwnerOf(dataDir, () => Promise.resolve(closeSync(openSync(configFile, 'r'))));
    return [report.ok(`The owner of the data directory can read ${configFile}.`)];
  } catch {
    const { uid, gid } = statSync(dataDir);
    return [
      report.problem(
        `The owner of the data directory (user ${uid}) cannot read ${configFile}.`,
        `Let its group read it: "chgrp ${gid} ${dirname(configFile)} ${configFile}", ` +
          `"chmod 750 ${dirname(configFile)}" and "chmod 640 ${configFile}".`,
      ),
    ];
  }
};
