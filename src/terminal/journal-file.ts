/**
 * Stores a journal as an append-only file with one JSON object per line, which is compacted when it is opened
 * and when it has grown. A crash during a write leaves a torn last line, which is ignored: it was not
 * flushed. A file lock prevents a second process from using it.
 */
import { privateDirectoryMode, privateFileMode } from '../lib/private-modes.js';
import { syncDirectory, writeAll } from '../lib/durable-file.js';
import { errorText } from '../lib/error-text.js';
import { makeDirectories } from '../lib/make-directories.js';
import { closeSync, fsyncSync, openSync, readFileSync, renameSync } from 'node:fs';
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { tryLock } from 'fs-native-extensions';
import type { SourceName } from '../model/source-name.js';

/** Why a journal cannot be used, in a sentence for the operator. */
export class JournalRefused extends Error {}

export interface JournalFile {
  readonly path: string;
  /** Content of the file when it was opened. */
  readonly lines: readonly string[];
  /** Durable after the next `sync`. */
  append(line: string): void;
  /** After a failed `sync` or `rewrite` all further ones throw: the last line may be torn, or the file nameless. */
  sync(): void;
  /** Replaces all lines atomically. */
  rewrite(lines: readonly string[]): void;
  close(): void;
}

/** Whether a journal is to be rewritten: it has grown by many entries, and has more than doubled. */
export function hasGrown(entriesSinceCompaction: number, live: number): boolean {
  return entriesSinceCompaction > Math.max(20_000, live);
}

/**
 * Opens the journal of one source, so that several terminals can share a directory.
 * @param kind ends the file's name: a terminal may keep a further journal of its own.
 * @param read makes the journal from its file, which is closed when this throws.
 * @throws JournalRefused when it is in use, damaged, or cannot be read or written.
 */
export function openJournal<Journal>(
  directory: string,
  source: SourceName,
  kind: string,
  read: (file: JournalFile) => Journal,
): Journal {
  const path = join(directory, `${fileNameOf(source)}.${kind}`);
  let file: JournalFile | undefined;
  try {
    makeDirectories(directory, privateDirectoryMode);
    file = open(directory, path, source, kind);
    return read(file);
  } catch (error) {
    file?.close();
    if (error instanceof JournalRefused) throw error;
    const reason = errorText(error);
    throw new JournalRefused(
      `The journal in ${directory} cannot be used: ${reason}. It must be a directory that this user can write to.`,
      { cause: error },
    );
  }
}

function open(directory: string, path: string, source: SourceName, kind: string): JournalFile {
  const lock = lockFor(path);
  const { platform, instanceId, accountName } = source;
  const head = JSON.stringify({ [kind]: 1, platform, instanceId, accountName });
  let lines: readonly string[];
  let file: number;
  try {
    lines = readLines(path, head);
    file = openSync(path, 'a', privateFileMode);
  } catch (error) {
    closeSync(lock);
    throw error;
  }
  let pending: string[] = [];
  let failure: Error | undefined;

  function attempt(write: () => void): void {
    if (failure !== undefined) throw failure;
    try {
      write();
    } catch (error) {
      failure = error as Error;
      throw error;
    }
  }

  return {
    path,
    lines,
    append: (line) => void pending.push(line),
    sync() {
      attempt(() => {
        if (pending.length === 0) return;
        writeAll(file, textOf(pending));
        pending = [];
        fsyncSync(file);
      });
    },
    rewrite(newLines) {
      attempt(() => {
        const draft = `${path}.new`;
        const next = openSync(draft, 'w', privateFileMode);
        try {
          writeAll(next, textOf([head, ...newLines]));
          fsyncSync(next);
          renameSync(draft, path);
          syncDirectory(directory);
        } catch (error) {
          closeSync(next);
          throw error;
        }
        closeSync(file);
        file = next;
        pending = [];
      });
    },
    close() {
      closeSync(file);
      closeSync(lock);
    },
  };
}

function lockFor(path: string): number {
  const lock = openSync(`${path}.lock`, 'a', privateFileMode);
  if (tryLock(lock)) return lock;
  closeSync(lock);
  throw new JournalRefused(
    `The journal ${path} is in use by another terminal. Stop that one, or give this one a directory of its own.`,
  );
}

function readLines(path: string, head: string): string[] {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return [];
    throw error;
  }
  // Text after the last newline is a torn write.
  const lines = text.split('\n').slice(0, -1);
  if (lines.length === 0) return [];
  if (lines[0] !== head) throw new JournalRefused(damaged(path, 1));
  lines.forEach((line, index) => {
    if (!isJson(line)) throw new JournalRefused(damaged(path, index + 1));
  });
  return lines.slice(1);
}

function damaged(path: string, line: number): string {
  return (
    `The journal ${path} is damaged in line ${line}. Without it a command could be executed twice: ` +
    'check the orders at the broker, then move the file away and start again.'
  );
}

function isJson(line: string): boolean {
  try {
    JSON.parse(line);
    return true;
  } catch {
    return false;
  }
}

/** A hash, because the names of a source may contain characters that are invalid in file names. */
function fileNameOf({ platform, instanceId, accountName }: SourceName): string {
  const name = JSON.stringify([platform, instanceId, accountName]);
  return createHash('sha256').update(name).digest('hex').slice(0, 24);
}

function textOf(lines: readonly string[]): string {
  return lines.map((line) => `${line}\n`).join('');
}
