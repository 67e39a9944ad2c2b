/** Who owns the data directory and its files, and which other users can read them. */
import { lstatSync, readdirSync, statSync, type Stats } from 'node:fs';
import { join } from 'node:path';
import { isDirectory } from '../lib/is-directory.js';
import { othersMask } from '../lib/private-modes.js';
import { secretFile } from '../store/jwt-secret.js';
import type { Check } from './check.js';
import { type Finding, reporter } from './finding.js';
import { deniedAccess, lacksOwnerRights, openedPaths, storeDirectories } from './store-access.js';

const report = reporter('permissions');
const groupReads = 0o040;

export const checkPermissions: Check = ({ settings }) => {
  const { dataDir, tlsKey } = settings;
  if (!isDirectory(dataDir)) {
    return [
      report.problem(
        `There is no data directory ${dataDir}.`,
        'Give the gateway’s own with --data-dir; "signalbox serve" and "signalbox user add" ' +
          'make a new one.',
      ),
    ];
  }
  const directory = statSync(dataDir);
  const directories = storeDirectories(dataDir);
  const closed = [...ownerFindings(dataDir, directory), ...directories.flatMap(accessFindings)];
  // Without access to the directory its files cannot be listed.
  if (closed.length > 0) return closed;
  const opened = openedPaths(dataDir);
  const findings = [
    ...directories.flatMap((path) => modeFindings(path, statSync(path), 'chmod 700')),
    ...directories
      .filter((path) => statSync(path).uid !== directory.uid)
      .map((path) => foreign(path, directory)),
    ...directories
      .flatMap((path) => filesIn(path, [...opened, join(dataDir, secretFile)]))
      .flatMap(([path, file]) => [
        ...(file.uid === directory.uid ? [] : [foreign(path, directory)]),
        ...(opened.includes(path) ? rightsFindings(path, file) : []),
        ...modeFindings(path, file, 'chmod 600'),
      ]),
    ...(tlsKey === undefined ? [] : keyFindings(tlsKey, directory)),
  ];
  const well = `${dataDir} and its files belong to one user (${directory.uid}), and are closed to all others.`;
  return findings.length === 0 ? [report.ok(well)] : findings;
};

/**
 * @param own files of the gateway. Another file's link is not followed: its target may have to be readable by all users,
 * and the advice here would make it private.
 */
function filesIn(directory: string, own: readonly string[]): [string, Stats][] {
  return readdirSync(directory).flatMap((name): [string, Stats][] => {
    const path = join(directory, name);
    const look = own.includes(path) ? statSync : lstatSync;
    const file = look(path, { throwIfNoEntry: false });
    return file?.isFile() === true ? [[path, file]] : [];
  });
}

function ownerFindings(path: string, { uid }: Stats): Finding[] {
  const user = process.geteuid?.();
  // Root works on the directory as its owner.
  if (user === undefined || user === uid || user === 0) return [];
  return [
    report.problem(
      `${path} belongs to user ${uid}, and this command runs as user ${user}, ` +
        'which cannot work on it.',
      `Run the commands of signalbox as that user, such as with "sudo -u '#${uid}'", or as root.`,
    ),
  ];
}

function accessFindings(path: string): Finding[] {
  const denied = deniedAccess(path);
  if (denied === undefined) return [];
  return [
    report.problem(
      `${path} cannot be used: ${denied}.`,
      `Give its owner all rights with "chmod 700 ${path}", and mount its file system for writing.`,
    ),
  ];
}

function rightsFindings(path: string, file: Stats): Finding[] {
  if (!lacksOwnerRights(file)) return [];
  return [
    report.problem(
      `The owner of ${path} cannot read and write it (mode ${(file.mode & 0o777).toString(8)}).`,
      `Give the rights back with "chmod 600 ${path}".`,
    ),
  ];
}

/** A key that another user owns, such as root, is read by the gateway's user as a member of its group. */
function keyFindings(path: string, { uid, gid }: Stats): Finding[] {
  const key = statSync(path);
  const isOfGroup = key.uid !== uid && key.gid === gid;
  return isOfGroup
    ? modeFindings(path, key, 'chmod 640', othersMask & ~groupReads)
    : modeFindings(path, key, 'chmod 600');
}

function modeFindings(
  path: string,
  { mode }: Stats,
  remedy: string,
  closed = othersMask,
): Finding[] {
  if ((mode & closed) === 0) return [];
  const shown = (mode & 0o777).toString(8);
  return [
    report.problem(
      `Other users may be able to read ${path} (mode ${shown}).`,
      `Close it with "${remedy} ${path}". If another user may have read it, replace the secrets in it: ` +
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
