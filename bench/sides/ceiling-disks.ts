/**
 * Where the ceilings of `submit` write: into lmdb, as the gateway did before it had a log, or into one preallocated
 * file, which is the least that a log takes for the same acceptances. Each makes a group durable with one flush.
 */
import { constants, fsyncSync, openSync, closeSync, write, writeSync } from 'node:fs';
import { join } from 'node:path';
import { type Database, open } from 'lmdb';
import { writeDigits } from '../load/digits.js';
import type { AcceptancePut } from './acceptance-puts.js';

/** @param count acceptances that become durable together. @param done runs after the flush. */
export type CeilingDisk = (count: number, done: () => void) => void;

interface DiskOptions {
  readonly dataDir: string;
  readonly puts: readonly AcceptancePut[];
  /** How many users the gateway's load is spread over: keys begin with the user, there as here. */
  readonly users: number;
}

export const ceilingDisks = { lmdb: createLmdb, log: createLog } as const;

/** As the gateway's store: named databases, texts, nothing visible before its flush. */
function createLmdb({ dataDir, puts, users }: DiskOptions): CeilingDisk {
  // `keyEncoder` is missing from lmdb's declarations.
  const environment = {
    noSubdir: false,
    overlappingSync: false,
    strictAsyncOrder: true,
    maxDbs: puts.length + 1,
  };
  const root = open(dataDir, environment);
  const targets = puts.map(({ collection, keyBytes, valueBytes }, index) => {
    const database = { encoding: 'string' as const, keyEncoder: keysOf(keyBytes, users) };
    return {
      database: root.openDB<string>(`${index}-${collection}`, database) as Database<string, number>,
      value: Buffer.alloc(valueBytes, 'x').toString('latin1'),
    };
  });
  let sequence = 0;
  return (count, done) => {
    let committed: Promise<boolean> | undefined;
    for (let i = 0; i < count; i++) {
      const number = sequence++;
      for (const { database, value } of targets) committed = database.put(number, value);
    }
    void committed?.then(done);
  };
}

/** Keys of one size: first the user, last a number, so that they spread as the keys of users do. */
function keysOf(size: number, users: number) {
  const userDigits = 6;
  const numberDigits = Math.min(10, size - userDigits);
  const filler = 0x5f;
  return {
    writeKey(number: number, target: Uint8Array, position: number): number {
      const end = position + size;
      target.fill(filler, position, end);
      writeDigits(target, position, userDigits, number % users);
      writeDigits(target, end - numberDigits, numberDigits, number);
      return end;
    },
    readKey: (): number => {
      throw new Error('the ceiling reads no keys');
    },
  };
}

const logBytes = 16 * 1024 * 1024;
/** Header bytes of a frame, and of each put in it for its collection and its lengths. */
const frameBytes = 32;
const putBytes = 8;

/** Writes each group behind the last one; begins again at the file's end, as a log reuses a segment. */
function createLog({ dataDir, puts }: DiskOptions): CeilingDisk {
  const path = join(dataDir, 'log');
  const made = openSync(path, 'w');
  writeSync(made, Buffer.alloc(logBytes));
  fsyncSync(made);
  closeSync(made);
  const file = openSync(path, constants.O_WRONLY | constants.O_DSYNC);
  const acceptance = Buffer.alloc(
    puts.reduce((sum, { keyBytes, valueBytes }) => sum + putBytes + keyBytes + valueBytes, 0),
    'x',
  );
  const group = Buffer.alloc(logBytes, 'x');
  let position = 0;
  return (count, done) => {
    for (let i = 0; i < count; i++) group.set(acceptance, frameBytes + i * acceptance.length);
    const length = frameBytes + count * acceptance.length;
    if (position + length > logBytes) position = 0;
    write(file, group, 0, length, position, (error) => {
      if (error !== null) throw error;
      done();
    });
    position += length;
  };
}
