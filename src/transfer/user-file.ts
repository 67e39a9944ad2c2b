/**
 * A user in a file: lines of JSON, first what it is, then one record a line, in the end how many and
 * the hash of all before it, so that a file that was cut off or changed is not taken for a whole one.
 */
import { privateFileMode } from '../lib/private-modes.js';
import { createHash, type Hash } from 'node:crypto';
import { closeSync, fsyncSync, linkSync, openSync, readSync, rmSync, writeSync } from 'node:fs';
import { randomHex } from '../lib/ids.js';
import { type Collection, type KeyOf, type RecordOf, storeFormat } from '../store/key-layout.js';

export interface UserFileHead {
  readonly userId: string;
  readonly email: string;
  readonly plan: string;
  /** Unix milliseconds. */
  readonly exportedAt: number;
  /** Whether the user stood still from then on: only such a file can be imported. */
  readonly isMove: boolean;
}

/** In the order in which they are written and read. */
export const movedCollections = [
  'requests',
  'signalIds',
  'idempotency',
  'openExecutions',
  'finalExecutions',
  'sources',
  'users',
  'apiKeys',
  'apiKeyUses',
  'sessions',
] as const satisfies readonly Collection[];
export type MovedCollection = (typeof movedCollections)[number];

export type MovedRow = {
  [C in MovedCollection]: {
    readonly collection: C;
    readonly key: KeyOf<C>;
    readonly record: RecordOf<C>;
  };
}[MovedCollection];

const mark = 'signalbox-user';
const version = 1;
const chunkBytes = 1 << 16;

export interface UserFileWriter {
  write(row: MovedRow): void;
  /** Puts the file in its place, whole and flushed. @returns the number of rows. */
  finish(): number;
  /** Removes what was written. */
  drop(): void;
}

/** Throws the system's error when the file exists already or cannot be written. */
export function createUserFile(path: string, head: UserFileHead): UserFileWriter {
  const draft = `${path}.${randomHex(8)}`;
  const file = openSync(draft, 'wx', privateFileMode);
  const hash = createHash('sha256');
  let rows = 0;
  let text = '';
  function flush(): void {
    for (let rest = Buffer.from(text); rest.length > 0;)
      rest = rest.subarray(writeSync(file, rest));
    text = '';
  }
  function line(value: object): void {
    const bytes = `${JSON.stringify(value)}\n`;
    hash.update(bytes);
    text += bytes;
    if (text.length >= chunkBytes) flush();
  }
  line({ [mark]: version, storeFormat, ...head });
  return {
    write(row) {
      rows++;
      line(row);
    },
    finish() {
      text += `${JSON.stringify({ rows, sha256: hash.digest('hex') })}\n`;
      flush();
      fsyncSync(file);
      closeSync(file);
      // Unlike a rename, this never replaces a file that somebody has made meanwhile.
      linkSync(draft, path);
      rmSync(draft);
      return rows;
    },
    drop: () => rmSync(draft, { force: true }),
  };
}

export type UserFileFault = 'unreadable' | 'foreign' | 'other_version' | 'damaged';

/** Reads the whole file once, and keeps nothing of it but its head. */
export function readUserFileHead(path: string): UserFileHead | UserFileFault {
  try {
    const lines = linesOf(path);
    const first = lines.next();
    if (first.done === true) return 'foreign';
    const head = parse(first.value.text);
    if (head?.[mark] === undefined) return 'foreign';
    if (head[mark] !== version || head['storeFormat'] !== storeFormat) return 'other_version';
    const hash = createHash('sha256');
    let rows = 0;
    for (let last = first.value; ; rows++) {
      const next = lines.next();
      if (next.done === true) return isWhole(last.text, rows - 1, hash) ? headOf(head) : 'damaged';
      hash.update(`${last.text}\n`);
      last = next.value;
    }
  } catch {
    return 'unreadable';
  }
}

/** The rows of a file whose head was read before. */
export function* readUserRows(path: string): Generator<MovedRow, void, void> {
  for (const { text, number } of linesOf(path)) {
    const row = number === 1 ? undefined : parse(text);
    if (row?.['collection'] !== undefined) yield row as unknown as MovedRow;
  }
}

function headOf(head: Record<string, unknown>): UserFileHead {
  return head as unknown as UserFileHead;
}

function isWhole(last: string, rows: number, hash: Hash): boolean {
  const end = parse(last);
  return end?.['rows'] === rows && end['sha256'] === hash.digest('hex');
}

function parse(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}

/** Ended by a line feed and by nothing else: JSON may hold the other characters that end lines. */
function* linesOf(path: string): Generator<{ text: string; number: number }, void, void> {
  const file = openSync(path, 'r');
  const chunk = Buffer.alloc(chunkBytes);
  let parts: Buffer[] = [];
  let number = 0;
  try {
    for (;;) {
      const length = readSync(file, chunk, 0, chunkBytes, null);
      if (length === 0) return;
      let from = 0;
      for (let to = chunk.indexOf(10); to >= 0 && to < length; to = chunk.indexOf(10, from)) {
        parts.push(chunk.subarray(from, to));
        yield { text: Buffer.concat(parts).toString('utf8'), number: ++number };
        parts = [];
        from = to + 1;
      }
      parts.push(Buffer.from(chunk.subarray(from, length)));
    }
  } finally {
    closeSync(file);
  }
}
