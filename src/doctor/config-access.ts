/** Whether the gateway’s user can read the config file and those of TLS: what root has made may be closed to it. */
import { closeSync, openSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { asOwnerOf } from '../admin/owner.js';
import type { Check } from './check.js';
import { reporter, type Finding } from './finding.js';
import { closedAbove } from './reach.js';

const config = reporter('config');
const tls = reporter('tls');

export const checkConfigAccess: Check = async ({ settings, configFile }) => {
  const { dataDir, tlsCert, tlsKey } = settings;
  const files = [
    { path: configFile, ok: config.ok, closed: config.problem, exception: '' },
    ...[tlsCert, tlsKey].map((path) => ({
      path,
      ok: tls.ok,
      closed: tls.warning,
      exception: ' Leave it as it is if the unit hands it to the gateway with LoadCredential.',
    })),
  ];
  const findings: Finding[] = [];
  for (const { path, ok, closed, exception } of files) {
    if (path === undefined) continue;
    const fault = await faultOf(path, dataDir);
    findings.push(
      fault === undefined
        ? ok(`The owner of the data directory can read ${path}.`)
        : closed(fault.message, `${fault.remedy}${exception}`),
    );
  }
  return findings;
};

async function faultOf(
  path: string,
  dataDir: string,
): Promise<{ readonly message: string; readonly remedy: string } | undefined> {
  if (await isReadable(path, dataDir)) return undefined;
  const { uid, gid } = statSync(dataDir);
  const directory = dirname(path);
  const closed = await closedAbove(path, dataDir);
  if (closed !== undefined && closed !== resolve(directory)) {
    return {
      message: `The owner of the data directory (user ${uid}) cannot reach ${path}: ${closed} is closed to that user.`,
      remedy: 'Move it to a directory of its own, such as /etc/signalbox, that its group can read.',
    };
  }
  // A directory that can be entered may be a shared one, such as /etc, and is left as it is.
  const commands =
    closed === undefined
      ? `"chgrp ${gid} ${path}" and "chmod 640 ${path}"`
      : `"chgrp ${gid} ${directory} ${path}", "chmod 750 ${directory}" and "chmod 640 ${path}"`;
  return {
    message: `The owner of the data directory (user ${uid}) cannot read ${path}.`,
    remedy: `Let its group read it: ${commands}.`,
  };
}

async function isReadable(path: string, dataDir: string): Promise<boolean> {
  try {
    await asOwnerOf(dataDir, () => closeSync(openSync(path, 'r')));
    return true;
  } catch {
    return false;
  }
}
