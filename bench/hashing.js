/**
 * Where hashing belongs: SHA-256 inline or by a thread, Argon2id by the pool, and what a commit of the
 * store pays for either. `node bench/hashing.js`, after a build, takes some ten seconds; the figures
 * and what follows from them stand in native-notes/hashing.md. Also the program of its own threads.
 */
import { verify } from '@node-rs/argon2';
import { open } from 'lmdb';
import { createHash, hash, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isMainThread } from 'node:worker_threads';
import { Piscina } from 'piscina';
import { dummyHash } from '../build/src/auth/password.js';
import { createHashPool } from '../build/src/workers/hash-pool.js';

/** What a thread of the comparison does. */
export default function sha256(bytes) {
  return hash('sha256', bytes, 'base64url');
}

if (isMainThread) await main();

async function main() {
  console.log(`Node ${process.versions.node} on ${process.platform} ${process.arch}\n`);
  await compareSha256();
  await compareCommits();
}

async function compareSha256() {
  const pool = new Piscina({ filename: import.meta.url, minThreads: 1, maxThreads: 1 });
  const rows = [];
  for (const bytes of [43, 400, 4096, 65_536]) {
    const data = randomBytes(bytes);
    const times = Math.round(2e8 / (bytes + 1000));
    const inline = microseconds(times, () => sha256(data));
    const older = microseconds(times, () => createHash('sha256').update(data).digest('base64url'));
    const trip = await medianTrip(2000, () => pool.run(data));
    rows.push({
      bytes,
      'hash() inline, µs': inline.toFixed(2),
      'createHash() inline, µs': older.toFixed(2),
      'a thread, µs': trip.toFixed(1),
      'thread / inline': (trip / inline).toFixed(0),
    });
  }
  await pool.destroy();
  console.log('SHA-256, inline and by a thread that waits for it:');
  console.table(rows);
}

/** The latency of one commit, alone and with passwords that began to be hashed just before it. */
async function compareCommits() {
  const directory = mkdtempSync(join(tmpdir(), 'signalbox-hashing-'));
  const store = open(directory, { noSubdir: false, overlappingSync: false });
  const pool = createHashPool({ threads: 1, queueMax: 64 });
  await pool.verify(dummyHash, 'warm');
  const beside = {
    nothing: () => Promise.resolve(),
    "16 Argon2id in Signalbox's pool": () => sixteen(() => pool.verify(dummyHash, 'password')),
    "16 Argon2id on libuv's threads": () => sixteen(() => verify(dummyHash, 'password')),
  };
  const rows = [];
  for (const [what, begin] of Object.entries(beside)) {
    const commits = [];
    const hashings = [];
    for (let round = 0; round < 15; round++) {
      const at = performance.now();
      const hashing = begin();
      await store.put('key', round);
      commits.push(performance.now() - at);
      await hashing;
      hashings.push(performance.now() - at);
    }
    rows.push({
      beside: what,
      'all hashes, ms': what === 'nothing' ? '' : median(hashings).toFixed(0),
      'the commit, ms': median(commits).toFixed(2),
      'longest, ms': Math.max(...commits).toFixed(1),
    });
  }
  await pool.close();
  await store.close();
  rmSync(directory, { recursive: true });
  console.log('A commit of the store, begun right after the hashes; medians of 15:');
  console.table(rows);
}

function sixteen(task) {
  return Promise.all(Array.from({ length: 16 }, task));
}

/** Median over five runs, per call. */
function microseconds(times, task) {
  const runs = [];
  for (let run = 0; run < 6; run++) {
    const at = performance.now();
    for (let i = 0; i < times; i++) task();
    runs.push(((performance.now() - at) * 1000) / times);
  }
  // The first run warms up.
  return median(runs.slice(1));
}

async function medianTrip(times, task) {
  const trips = [];
  for (let i = 0; i < times; i++) {
    const at = performance.now();
    await task();
    trips.push((performance.now() - at) * 1000);
  }
  return median(trips);
}

function median(numbers) {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)];
}
