/**
 * The directory of a backup, written by the command's own process from a staged copy. Files are
 * written to `unfinished` in it and renamed when they are on disk, the store last: a directory that
 * holds `data.mdb` holds a complete copy, also when this process was killed half-way.
 */
import { constants, existsSync, lstatSync, realpathSync, statSync } from 'node:fs';
import {
  chmod,
  chown,
  type FileHandle,
  lstat,
  mkdir,
  open,
  readdir,
  rename,
  rm,
  rmdir,
} from 'node:fs/promises';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { syncWithoutBlocking } from '../lib/durable-file.js';
import { errorText } from '../lib/error-text.js';
import { isDirectory } from '../lib/is-directory.js';
import { makeDirectories } from '../lib/make-directories.js';
import { privateDirectoryMode, privateFileMode } from '../lib/private-modes.js';
import { copyMark, dataFile, unfinishedBackup } from './data-directory.js';
import { secretFile } from './jwt-secret.js';
import { logDirectory } from './log/segment-files.js';
import { type CopyRefusal, spaceRefusal } from './staged-copy.js';

export interface Backup {
  readonly directory: string;
  /** The files in it, in the order in which they were renamed. */
  readonly files: readonly string[];
  readonly bytes: number;
}

export interface BackupTarget {
  readonly directory: string;
  readonly dataDirectory: string;
  /** Directories made for it, the outermost first. */
  readonly made: readonly string[];
}

/** Another user's file, or no file: root must not copy what the gateway's user cannot read itself. */
class ForeignFile extends Error {}

/** @param target a new or empty directory. @returns why the backup cannot be written there. */
export async function prepareBackup(
  dataDirectory: string,
  target: string,
): Promise<BackupTarget | CopyRefusal> {
  const directory = resolve(target);
  if (isWithin(realPath(resolve(dataDirectory)), realPath(directory)))
    return lostWithStore(directory);
  let made: string[] = [];
  try {
    made = pathsBetween(makeDirectories(directory, privateDirectoryMode), directory);
    // Before anything is copied: it fails where a directory above may be written to and not read.
    for (const each of made) await syncWithoutBlocking(dirname(each));
    const [first] = await readdir(directory);
    if (first !== undefined) return notEmpty(directory, first);
    const store = isDirectory(dataDirectory)
      ? statSync(join(dataDirectory, dataFile), { throwIfNoEntry: false })
      : undefined;
    const isElsewhere = store !== undefined && store.dev !== statSync(directory).dev;
    // Of two backups into the same directory, the second fails here.
    await mkdir(join(directory, unfinishedBackup), { mode: privateDirectoryMode });
    const prepared = { directory, dataDirectory, made };
    const refusal = isElsewhere ? spaceRefusal(directory, store.size, 'the backup') : undefined;
    if (refusal === undefined) return prepared;
    await dropBackup(prepared);
    return refusal;
  } catch (error) {
    if (existsSync(join(directory, unfinishedBackup))) return notEmpty(directory, unfinishedBackup);
    await removeEmpty(made);
    return unusable(directory, error);
  }
}

/** Moves or copies the staged copy and the JWT secret to the target. */
export async function completeBackup(
  target: BackupTarget,
  stagedDirectory: string,
): Promise<Backup | CopyRefusal> {
  const { directory, dataDirectory } = target;
  const unfinished = join(directory, unfinishedBackup);
  try {
    await mkdir(join(unfinished, logDirectory), { mode: privateDirectoryMode });
    const logFiles = (await readdir(join(stagedDirectory, logDirectory))).map(inLog);
    const staged = [copyMark, ...logFiles, dataFile];
    const hasSecret = existsSync(join(dataDirectory, secretFile));
    const files = hasSecret ? [secretFile, ...staged] : staged;
    let bytes = 0;
    for (const name of files) {
      const from = join(name === secretFile ? dataDirectory : stagedDirectory, name);
      const size = await bring(from, join(unfinished, name), dataDirectory, name !== secretFile);
      if (typeof size !== 'number') return await dropBackup(target).then(() => size);
      bytes += size;
    }
    await syncWithoutBlocking(join(unfinished, logDirectory));
    await giveToOwner(target);
    for (const name of new Set(files.map(topOf))) {
      await rename(join(unfinished, name), join(directory, name));
      await syncWithoutBlocking(directory);
    }
    await rmdir(unfinished);
    await syncWithoutBlocking(directory);
    return { directory, files, bytes };
  } catch (error) {
    await dropBackup(target);
    return isGone(error, stagedDirectory) ? lost(directory) : unusable(directory, error);
  }
}

/** Removes what was made for a backup that is not complete. */
export async function dropBackup({ directory, made }: BackupTarget): Promise<void> {
  if (existsSync(join(directory, dataFile))) return;
  for (const name of [unfinishedBackup, secretFile, copyMark, logDirectory]) {
    await rm(join(directory, name), { recursive: true, force: true });
  }
  await removeEmpty(made);
}

/** @param directories each in the one before it. */
async function removeEmpty(directories: readonly string[]): Promise<void> {
  try {
    for (const path of directories.toReversed()) await rmdir(path);
  } catch (error) {
    // Another backup may be in one of them by now.
    if ((error as NodeJS.ErrnoException).code !== 'ENOTEMPTY') throw error;
  }
}

/**
 * @param isMovable whether the file may leave its place.
 * @returns its size, once it is on disk under the new path.
 */
async function bring(
  from: string,
  to: string,
  dataDirectory: string,
  isMovable: boolean,
): Promise<number | CopyRefusal> {
  const source = await open(from, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const found = await source.stat();
    const { size, ino } = found;
    const isOwn = found.isFile() && found.uid === statSync(dataDirectory).uid;
    if (!isOwn) throw new ForeignFile(`${from} does not belong to the owner of ${dataDirectory}`);
    const isMoved = isMovable && (await isRenamed(from, to));
    if (isMoved && lstatSync(to).ino !== ino) throw new ForeignFile(`${from} was exchanged`);
    if (!isMoved) {
      const refusal = spaceRefusal(dirname(to), size, 'the backup');
      if (refusal !== undefined) return refusal;
      await copy(source, to);
    }
    await chmod(to, privateFileMode);
    await syncWithoutBlocking(to);
    return size;
  } finally {
    await source.close();
  }
}

/** @returns false across file systems or mounts, and where a directory is not writable. */
async function isRenamed(from: string, to: string): Promise<boolean> {
  try {
    await rename(from, to);
    return true;
  } catch {
    // The copy that follows reports what is really wrong.
    return false;
  }
}

async function copy(source: FileHandle, to: string): Promise<void> {
  const target = await open(to, 'wx', privateFileMode);
  await pipeline(source.createReadStream({ autoClose: false }), target.createWriteStream());
}

/** Gives what root has made to the owner of the data directory, whose gateway may start with it. */
async function giveToOwner({ directory, dataDirectory, made }: BackupTarget): Promise<void> {
  const { uid, gid } = statSync(dataDirectory);
  const unfinished = join(directory, unfinishedBackup);
  const names = await readdir(unfinished, { recursive: true });
  const files = names.map((name) => join(unfinished, name));
  for (const path of new Set([...files, unfinished, ...made.toReversed(), directory])) {
    if ((await lstat(path)).uid !== uid) await chown(path, uid, gid);
  }
  await chmod(directory, privateDirectoryMode);
}

function inLog(name: string): string {
  return join(logDirectory, name);
}

/** The first part of a file's path in the backup's directory. */
function topOf(name: string): string {
  return name.split(sep)[0] as string;
}

function pathsBetween(outermost: string | undefined, directory: string): string[] {
  if (outermost === undefined) return [];
  const paths = [outermost];
  for (const part of relative(outermost, directory).split(sep).filter(Boolean)) {
    paths.push(join(paths.at(-1) as string, part));
  }
  return paths;
}

function notEmpty(directory: string, first: string): CopyRefusal {
  const finding =
    first === unfinishedBackup
      ? `The directory ${directory} holds a backup that is under way or was cut off.`
      : `The directory ${directory} is not empty: it holds "${first}".`;
  return {
    code: 'directory_not_empty',
    reason: `${finding} Nothing is ever overwritten. Give a new directory, or empty this one.`,
  };
}

/** @param path absolute. @returns it without links, as far as it exists: a link may lead from the one into the other. */
function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return join(realPath(dirname(path)), basename(path));
  }
}

function isWithin(outer: string, inner: string): boolean {
  const path = relative(outer, inner);
  return path !== '' && path !== '..' && !path.startsWith(`..${sep}`);
}

function lostWithStore(directory: string): CopyRefusal {
  return {
    code: 'directory_unusable',
    reason:
      `${directory} lies in the data directory: the backup would be lost with it. Give a directory ` +
      'elsewhere, best on another disk.',
  };
}

/** Whether the staged copy is gone: a gateway that ends, or cuts the command off, removes it. */
function isGone(error: unknown, stagedDirectory: string): boolean {
  const { code, path = '' } = error as NodeJS.ErrnoException;
  return code === 'ENOENT' && isWithin(stagedDirectory, path);
}

function lost(directory: string): CopyRefusal {
  return {
    code: 'copy_lost',
    reason:
      `The backup could not be written to ${directory}, because the gateway has removed its copy meanwhile: it has ended, or ` +
      'has cut the command off. Nothing of it is left there. Run the command again.',
  };
}

function unusable(directory: string, error: unknown): CopyRefusal {
  return {
    code: 'directory_unusable',
    reason:
      `The backup could not be written to ${directory}: ${errorText(error)}. Nothing of it is left ` +
      'there. Give a directory on a disk that can be written to and has room for the store.',
  };
}
