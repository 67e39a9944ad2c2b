/** Whose the data directory and its files are, and who else can read them. */
import { accessSync, constants, readdirSync, statSync, type Stats } from 'node:fs';
import { join } from 'node:path';
import type { Check } from './check.js';
import { type Finding, reporter } from './finding.js';

const othersMask = 0o077;
const report = reporter('permissions');

export const checkPermissions: Check = ({ settings }) => {
  const { dataDir, tlsKey } = settings;
  const directory = statSync(dataDir, { throwIfNoEntry: false });
  if (directory === undefined) {
    return [
      report.problem(
        `There is no data directory ${dataDir}.`,
        'Name the gateway’s own with --data-dir; a new one is made by "signalbox serve" and ' +
          '"signalbox user add".',
      ),
    ];
  }
  const findings = [
    ...ownerFindings(dataDir, directory),
    ...accessFindings(dataDir),
    ...modeFindings(dataDir, directory, 'chmod 700'),
    ...filesIn(dataDir).flatMap(([path, file]) => [
      ...(file.uid === directory.uid ? [] : [foreign(path, directory)]),
      ...modeFindings(path, file, 'chmod 600'),
    ]),
    ...(tlsKey === undefined ? [] : modeFindings(tlsKey, statSync(tlsKey), 'chmod 600')),
  ];
  const well = `${dataDir} and its files belong to the user that looks, and to nobody else.`;
  return findings.length === 0 ? [report.ok(well)] : findings;
};

function filesIn(directory: string): [string, Stats][] {
  return readdirSync(directory).flatMap((name): [string, Stats][] => {
    const path = join(directory, name);
    const file = statSync(path, { throwIfNoEntry: false });
    return file?.isFile() === true ? [[path, file]] : [];
  });
}

function ownerFindings(path: string, { uid }: Stats): Finding[] {
  const user = process.geteuid?.();
  if (user === undefined || user === uid) return [];
  return [
    report.problem(
      `${path} belongs to user ${uid}, and this command runs as user ${user}: files that it makes ` +
        'there could keep the gateway out.',
      `Run every command of signalbox as the gateway’s own user, such as with "sudo -u '#${uid}'".`,
    ),
  ];
}

function accessFindings(path: string): Finding[] {
  try {
    accessSync(path, constants.R_OK | constants.W_OK | constants.X_OK);
    return [];
  } catch (error) {
    return [
      report.problem(
        `${path} cannot be used: ${(error as Error).message}.`,
        'Mount its file system for writing, and give it to the user that runs the gateway.',
      ),
    ];
  }
}

function modeFindings(path: string, { mode }: Stats, remedy: string): Finding[] {
  if ((mode & othersMask) === 0) return [];
  const shown = (mode & 0o777).toString(8);
  return [
    report.problem(
      `Other users may be able to read ${path} (mode ${shown}).`,
      `Close it with "${remedy} ${path}". If somebody may have read it, replace the secrets in it: ` +
        'the JWT secret, the TLS key, or all API keys and passwords.',
    ),
  ];
}

function foreign(path: string, { uid }: Stats): Finding {
  return report.problem(
    `${path} does not belong to the owner of its directory (user ${uid}): the gateway may not be ` +
      'able to open it.',
    `Give it back with "chown ${uid} ${path}".`,
  );
}
