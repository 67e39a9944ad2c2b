/**
 * Program: the ceiling of `submit`, the gateway's own parts with nothing between them. A bare uWS
 * handler reads the body, makes as many puts of the same key and value sizes as an acceptance of the
 * gateway makes, in one transaction, and writes the same answer after the same flush. No header is
 * looked at, nothing is hashed, parsed, checked, counted or remembered. The argument is a file with a
 * SubmitCeiling as JSON.
 */
import { readFileSync } from 'node:fs';
import { type Database, open } from 'lmdb';
import { createApp, listen, type HttpResponse } from '../../src/http/uws.js';
import type { AcceptancePut } from './acceptance-puts.js';
import type { ConstantAnswer } from './constant.js';

export interface SubmitCeiling {
  readonly dataDir: string;
  readonly puts: readonly AcceptancePut[];
  readonly answer: ConstantAnswer;
  /** How many users the gateway's load is spread over: keys begin with the user, there as here. */
  readonly users: number;
}

const { dataDir, puts, answer, users } = JSON.parse(
  readFileSync(process.argv[2] as string, 'utf8'),
) as SubmitCeiling;
const host = '127.0.0.1';

// As in src/store/lmdb-store.ts: named databases, texts, nothing visible before its flush, and the
// puts of one event turn in one transaction. `keyEncoder` is missing from lmdb's declarations.
const environment = {
  noSubdir: false,
  overlappingSync: false,
  strictAsyncOrder: true,
  maxDbs: puts.length + 1,
};
const root = open(dataDir, environment);
const targets = puts.map(({ collection, keyBytes, valueBytes }, index) => {
  const database = { encoding: 'string' as const, keyEncoder: keysOf(keyBytes) };
  return {
    database: root.openDB<string>(`${index}-${collection}`, database) as Database<string, number>,
    value: Buffer.alloc(valueBytes, 'x').toString('latin1'),
  };
});

/** Numbers as keys of one size: first whose it is, last the number, so that they spread as users do. */
function keysOf(size: number) {
  const userDigits = 6;
  const filler = 0x5f;
  return {
    writeKey(number: number, target: Uint8Array, position: number): number {
      const end = position + size;
      target.fill(filler, position, end);
      writeDigits(target, position, position + userDigits, number % users);
      writeDigits(target, position + userDigits, end, number);
      return end;
    },
    readKey: (): number => {
      throw new Error('the ceiling reads no keys');
    },
  };
}

/** Fills backwards from the end, and stops at the start or after ten digits. */
function writeDigits(target: Uint8Array, start: number, end: number, number: number): void {
  let rest = number;
  for (let at = end - 1; at >= start && at >= end - 10; at--) {
    const next = Math.floor(rest / 10);
    target[at] = 0x30 + rest - next * 10;
    rest = next;
  }
}

let sequence = 0;

function put(): Promise<boolean> {
  const number = sequence++;
  let committed: Promise<boolean> | undefined;
  for (const { database, value } of targets) committed = database.put(number, value);
  return committed as Promise<boolean>;
}

function reply(res: HttpResponse): void {
  res.cork(() => {
    res.writeStatus(answer.statusLine);
    for (const [name, value] of answer.headers) res.writeHeader(name, value);
    res.end(answer.body);
  });
}

/**
 * What came to the disk is answered at the end of the turn: within another socket's callback, where
 * lmdb may tell of it, each header would be a system call of its own (native-notes/backpressure.md).
 */
let durable: (() => void)[] = [];

function replyToAll(): void {
  const answers = durable;
  durable = [];
  for (const answer of answers) answer();
}

const app = createApp(undefined);
app.post('/*', (res) => {
  let isOpen = true;
  let bytes = 0;
  res.onAborted(() => {
    isOpen = false;
  });
  res.onData((chunk, isLast) => {
    bytes += chunk.byteLength;
    if (!isLast || bytes === 0) return;
    void put().then(() => {
      if (durable.length === 0) setImmediate(replyToAll);
      durable.push(() => {
        if (isOpen) reply(res);
      });
    });
  });
});

const listener = await listen(app, host, 0);
if (listener === undefined) throw new Error('the ceiling found no free port');
console.log(JSON.stringify({ url: `http://${host}:${listener.port}` }));
