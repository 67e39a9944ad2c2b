/** wrk, a load generator in C that others trust, as a second opinion on our own. */
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { thisProduct } from '../measure/product.js';
import { newDirectory, removeDirectory } from '../measure/workspace.js';
import { submitSource } from './workloads/submit.js';
import { keyMark } from './workloads/request-bytes.js';

export interface WrkSpec {
  readonly url: string;
  /** The bytes of a GET; wrk sends its request line and headers again and again. */
  readonly request: Uint8Array;
  readonly connections: number;
  readonly seconds: number;
}

/** @returns answers a second, over one thread and a closed loop. */
export async function runWrk({ url, request, connections, seconds }: WrkSpec): Promise<number> {
  const [requestLine = '', ...lines] = Buffer.from(request).toString('latin1').trim().split('\r\n');
  const path = requestLine.split(' ')[1] ?? '/';
  const { requestsPerSecond } = await wrk(connections, seconds, [
    ...lines.flatMap((line) => ['-H', line]),
    new URL(path, url).href,
  ]);
  return requestsPerSecond;
}

export interface WrkSubmits extends Omit<WrkSpec, 'request'> {
  readonly keys: readonly string[];
}

const script = join(thisProduct.root, 'bench', 'load', 'submit.lua');
/** Stands twice in a signal, and nowhere else. */
const sampleNumber = 1_234_567_890;

/** POST /signals of all keys in turn, each with an Idempotency-Key and a signalId of its own. */
export async function wrkSubmits({ url, keys, connections, seconds }: WrkSubmits) {
  const run = randomBytes(4).toString('hex');
  const sample = submitSource([{ key: keyMark }], run).next(sampleNumber);
  const template = Buffer.from(sample)
    .toString('latin1')
    .replace(keyMark, '@key@')
    .replaceAll(String(sampleNumber), '@number@')
    .replace(/(?<="ts":)\d+/, '@ts@');
  const directory = newDirectory('wrk');
  const files = ['template', 'keys'].map((name) => join(directory, name));
  writeFileSync(files[0] as string, template, 'latin1');
  writeFileSync(files[1] as string, keys.join('\n'));
  try {
    return await wrk(connections, seconds, ['--latency', '-s', script, url, '--', ...files]);
  } finally {
    removeDirectory(directory);
  }
}

async function wrk(connections: number, seconds: number, rest: readonly string[]) {
  const { stdout } = await promisify(execFile)('wrk', [
    ...['-t', '1', '-c', String(connections), '-d', `${Math.ceil(seconds)}s`, '--timeout', '30s'],
    ...rest,
  ]);
  const perSecond = /^Requests\/sec:\s+([\d.]+)$/m.exec(stdout)?.[1];
  const failed = /^ *(Non-2xx or 3xx responses|Socket errors): .*$/m.exec(stdout)?.[0];
  if (perSecond === undefined || failed !== undefined) throw new Error(`wrk said:\n${stdout}`);
  const [, p99 = 'NaN', unit = 'ms'] = /^ *99%\s+([\d.]+)(us|ms|s)$/m.exec(stdout) ?? [];
  const p99Ms = Number(p99) * { us: 0.001, ms: 1, s: 1_000 }[unit as 'us' | 'ms' | 's'];
  return { requestsPerSecond: Number(perSecond), p99Ms };
}
