/**
 * The file of an exported user: lines of JSON. The first line is the head, each line after it is one
 * row, and the last has the number of rows and the hash of all lines before it, so that a file that was
 * cut off or changed is recognized.
 */
import { syncDirectory, writeAll } from '../lib/durable-file.js';
import { privateFileMode } from '../lib/private-modes.js';
import { createHash } from 'node:crypto';
import { closeSync, fsyncSync, linkSync, openSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { type FileLine, fileLines } from '../lib/file-lines.js';
import { isObject } from '../lib/is-object.js';
import { randomHex } from '../lib/ids.js';
import { takeAll } from '../lib/turn.js';
import {
  type CollectionsWith,
  type KeyOf,
  type RecordOf,
  recordFormat,
} from '../store/key-layout.js';

export interface UserFileHead {
  readonly userId: string;
  readonly email: string;
  readonly plan: string;
  /** Unix milliseconds. */
  readonly exportedAt: number;
  /** Whether the user was suspended: only such a file can be imported. */
  readonly isMove: boolean;
}

export type ExportedCollection = CollectionsWith<'exported'>;

export type UserRow = {
  [C in ExportedCollection]: {
    readonly collection: C;
    readonly key: KeyOf<C>;
    readonly record: RecordOf<C>;
  };
}[ExportedCollection];

const mark = 'signalbox-user';
const version = 1;
const chunkBytes = 1 << 16;

export interface UserFileWriter {
  /** The head first, then the rows. */
  write(line: UserFileHead | UserRow): void;
  /** Puts the file in its place, whole and flushed. */
  finish(): void;
  /** Removes what was written. */
  drop(): void;
}

/** Throws the system's error when the file cannot be written, or exists at the end. */
export function createUserFile(path: string): UserFileWriter {
  const draft = `${path}.${randomHex(8)}`;
  const file = openSync(draft, 'wx', privateFileMode);
  let isOpen = true;
  const hash = createHash('sha256');
  let rows = 0;
  let text = '';
  function flush(): void {
    writeAll(file, text);
    text = '';
  }
  function close(): void {
    isOpen = false;
    closeSync(file);
  }
  function line(value: object): void {
    const bytes = `${JSON.stringify(value)}\n`;
    hash.update(bytes);
    text += bytes;
    if (text.length >= chunkBytes) flush();
  }
  return {
    write(value) {
      if ('isMove' in value) return line({ [mark]: version, storeFormat: recordFormat, ...value });
      rows++;
      line(value);
    },
    finish() {
      text += `${JSON.stringify({ rows, sha256: hash.digest('hex') })}\n`;
      flush();
      fsyncSync(file);
      close();
      // Unlike a rename, a link never replaces a file that was made meanwhile.
      linkSync(draft, path);
      rmSync(draft);
      syncDirectory(dirname(path));
    },
    drop() {
      if (isOpen) close();
      rmSync(draft, { force: true });
    },
  };
}

export type UserFileFault = 'foreign' | 'other_version' | 'damaged';

/** Reads and verifies the whole file, and keeps only its head. Throws the system's error when it cannot be read. */
export function readUserFileHead(path: string): UserFileHead | UserFileFault {
  const lines = fileLines(path);
  const first = lines.next();
  if (first.done === true) return 'foreign';
  const head = parse(first.value.text);
  if (head?.[mark] === undefined) return 'foreign';
  if (head[mark] !== version || head['storeFormat'] !== recordFormat) return 'other_version';
  const isWhole = takeAll(rowsAfter(first.value, lines));
  return isWhole ? (head as unknown as UserFileHead) : 'damaged';
}

/** The file was changed since its head was read. */
export class UserFileChanged extends Error {
  override readonly name = 'UserFileChanged';
}

/** The rows of a file whose head was read before. Throws `UserFileChanged` after the last one. */
export function* readUserRows(path: string): Generator<UserRow, void, void> {
  const lines = fileLines(path);
  const first = lines.next();
  if (first.done === true || !(yield* rowsAfter(first.value, lines))) throw new UserFileChanged();
}

/** @returns whether the last line confirms all lines before it. */
function* rowsAfter(
  head: FileLine,
  lines: Iterator<FileLine, void>,
): Generator<UserRow, boolean, void> {
  const hash = createHash('sha256');
  let last = head;
  for (let next = lines.next(); next.done !== true; next = lines.next()) {
    hash.update(`${last.text}\n`);
    // Whether a line is a row is known when another one follows it.
    if (last !== head) yield parse(last.text) as unknown as UserRow;
    last = next.value;
  }
  const end = parse(last.text);
  return end?.['rows'] === last.number - 2 && end['sha256'] === hash.digest('hex');
}

function parse(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
