import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Worker } from 'node:worker_threads';
import { parseOptions } from '@node-rs/argon2';
import t, { type Test } from 'tap';
import { argon2Cost, dummyHash } from '../../src/auth/password.js';
import {
  createHashPool,
  type HashPool,
  type HashPoolOptions,
} from '../../src/workers/hash-pool.js';

const niceIncrement = 10;
/** Highest nice value that a thread can have. */
const nicest = 19;
const skip = process.platform !== 'linux' && 'threads have no priority of their own here';
const niceBefore = skip === false ? niceOf(`${process.pid}`) : undefined;
// Not sooner: what the module does to the main thread is what a test below asks.
const { hash } = await import('../../src/workers/hash-worker.js');

function onError(error: unknown): void {
  throw error;
}

function poolFor(t: Pick<Test, 'teardown'>, options: Omit<HashPoolOptions, 'onError'>): HashPool {
  const pool = createHashPool({ ...options, onError });
  t.teardown(() => pool.close());
  return pool;
}

t.test('a password verifies against its hash, and no other does', async (t) => {
  const pool = poolFor(t, { threads: 1, queueMax: 8 });
  const first = hash('correct horse');
  const second = hash('correct horse');
  t.match(first, /^\$argon2id\$v=19\$/);
  t.not(first, second, 'salted');
  t.equal(await pool.verify(first, 'correct horse'), true);
  t.equal(await pool.verify(first, 'correct horsf'), false);
  t.equal(await pool.verify(first, ''), false);
});

t.test('a letter with its accent is one password however it is composed', async (t) => {
  const pool = poolFor(t, { threads: 1, queueMax: 8 });
  const composed = hash('caf\u00e9 noir');
  t.equal(await pool.verify(composed, 'cafe\u0301 noir'), true);
  t.equal(await pool.verify(composed, 'cafe noir'), false);
});

t.test('the stand-in for an unknown email costs exactly what a real hash costs', async (t) => {
  const pool = poolFor(t, { threads: 1, queueMax: 8 });
  const real = hash('correct horse');
  t.strictSame(parseOptions(dummyHash), parseOptions(real));
  t.match(parseOptions(real), {
    memoryCost: argon2Cost.memoryKib,
    timeCost: argon2Cost.passes,
    parallelism: argon2Cost.lanes,
  });
  t.equal(await pool.verify(dummyHash, 'correct horse'), false, 'computed, and never a match');
});

t.test('a full queue is busy, counts those who wait, and frees again', async (t) => {
  const pool = poolFor(t, { threads: 1, queueMax: 2 });
  const admitted = ['one', 'two', 'three'].map((password) => pool.verify(dummyHash, password));
  t.equal(pool.waiting(), 2);
  t.equal(await pool.verify(dummyHash, 'four'), 'busy');
  for (const answer of await Promise.all(admitted)) t.not(answer, 'busy');
  t.equal(pool.waiting(), 0);
  t.not(await pool.verify(dummyHash, 'five'), 'busy');
});

t.test('passwords are hashed in the order in which they came', async (t) => {
  const pool = poolFor(t, { threads: 1, queueMax: 10 });
  const done: number[] = [];
  const places = [0, 1, 2, 3, 4, 5];
  await Promise.all(
    places.map((i) => pool.verify(dummyHash, `password ${i}`).then(() => done.push(i))),
  );
  t.strictSame(done, places);
});

t.test('the event loop goes on while passwords are hashed', async (t) => {
  const pool = poolFor(t, { threads: 1, queueMax: 8 });
  let turns = 0;
  let hashing = true;
  const turn = (): void => {
    turns++;
    if (hashing) setImmediate(turn);
  };
  turn();
  await pool.verify(dummyHash, 'correct horse');
  hashing = false;
  t.ok(turns > 1, `${turns} turns`);
});

t.test('a broken stored hash is an error that shows neither hash nor password', async (t) => {
  const pool = poolFor(t, { threads: 1, queueMax: 8 });
  const failure = await pool.verify('$argon2id$broken', 'hunter2-secret').then(
    () => undefined,
    (error: unknown) => error,
  );
  t.ok(failure instanceof Error);
  t.notMatch(String((failure as Error).stack), /hunter2|broken/);
  t.equal(await pool.verify(dummyHash, 'still works'), false);
});

t.test('a thread that ends without a task is reported, and another takes its place', async (t) => {
  const threads: Worker[] = [];
  const note = (thread: Worker) => threads.push(thread);
  process.on('worker', note);
  t.teardown(() => process.off('worker', note));
  const errors: unknown[] = [];
  const pool = createHashPool({ threads: 1, queueMax: 8, onError: (error) => errors.push(error) });
  t.teardown(() => pool.close());
  t.not(await pool.verify(dummyHash, 'one'), 'busy');
  const error = new Error('out of memory');
  // Emits the error as Node does: no message makes an idle thread throw.
  threads[0]?.emit('error', error);
  t.strictSame(errors, [error]);
  t.not(await pool.verify(dummyHash, 'two'), 'busy');
  t.equal(threads.length, 2);
});

t.test('closing finishes what was admitted and takes no more', async (t) => {
  const pool = createHashPool({ threads: 1, queueMax: 4, onError });
  const admitted = ['one', 'two', 'three'].map((password) => pool.verify(dummyHash, password));
  const closed = pool.close();
  t.equal(await pool.verify(dummyHash, 'late'), 'busy');
  await closed;
  for (const answer of await Promise.all(admitted)) t.equal(answer, false);
  t.equal(await pool.verify(dummyHash, 'later'), 'busy');
});

t.test('hashing yields the processor to the threads that serve orders', { skip }, async (t) => {
  const nicesOf = (): number[] => readdirSync('/proc/self/task').map(niceOf);
  const pool = poolFor(t, { threads: 1, queueMax: 8 });
  await pool.verify(dummyHash, 'correct horse');
  const own = niceOf(`${process.pid}`);
  t.same(
    nicesOf().filter((nice) => nice !== own),
    [Math.min(nicest, own + niceIncrement)],
  );
});

t.test('who hashes in the main thread keeps its priority', { skip }, (t) => {
  hash('correct horse');
  t.equal(niceOf(`${process.pid}`), niceBefore);
  t.end();
});

function niceOf(thread: string): number {
  // The fields that follow the command's name begin with the state; nice is the 17th.
  const stat = readFileSync(`/proc/self/task/${thread}/stat`, 'utf8');
  return Number(stat.split(') ').at(-1)?.split(' ')[16]);
}

t.test(
  'a thread imports its module and never requires it, so that an exit meanwhile aborts nothing',
  (t) => {
    const tellsRequired = `
    import Module from 'node:module';
    import { isMainThread } from 'node:worker_threads';
    import { writeSync } from 'node:fs';
    const { load } = Module.prototype;
    if (!isMainThread) Module.prototype.load = function (file) {
      load.call(this, file);
      writeSync(1, 'required ' + file + '\\n');
    };`;
    const hashes = `
    const { createHashPool } = await import('${new URL('../../src/workers/hash-pool.js', import.meta.url).href}');
    const pool = createHashPool({ threads: 1, queueMax: 1, onError: (error) => { throw error; } });
    await pool.verify('${dummyHash}', 'correct horse');
    await pool.close();`;
    const preload = `--import=data:text/javascript,${encodeURIComponent(tellsRequired)}`;
    const program = join(t.testdir({ 'hashes.mjs': hashes }), 'hashes.mjs');
    const { status, stdout } = spawnSync(process.execPath, [program], {
      env: { ...process.env, NODE_OPTIONS: preload },
      encoding: 'utf8',
    });
    t.equal(status, 0);
    t.match(stdout, /^required .*argon2/m);
    t.notMatch(stdout, /hash-worker/);
    t.end();
  },
);
