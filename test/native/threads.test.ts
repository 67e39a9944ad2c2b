/** What piscina does with tasks and errors, and what shares libuv's threads: native-notes/hashing.md. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Piscina } from 'piscina';
import t, { type Test } from 'tap';

const filename = new URL('./failing-task.program.js', import.meta.url).href;

function poolFor(t: Test, options: object = {}): Piscina {
  const pool = new Piscina({ filename, minThreads: 1, maxThreads: 1, ...options });
  t.teardown(() => pool.destroy());
  return pool;
}

t.test('an error loses its own properties on the way back from a thread', async (t) => {
  const failure = await poolFor(t)
    .run(undefined, { name: 'fail' })
    .then(
      () => undefined,
      (error: unknown) => error as Error,
    );
  t.equal(failure?.message, 'broken');
  t.notOk(Object.hasOwn(failure as Error, 'code'));
});

t.test('the queue has no bound unless one is given, and an overflow throws', async (t) => {
  t.equal(poolFor(t).options.maxQueue, Infinity);
  const pool = poolFor(t, { maxQueue: 1 });
  await pool.run(undefined, { name: 'work' });
  const tasks = [1, 2, 3, 4].map(() => pool.run(undefined, { name: 'work' }));
  const outcomes = await Promise.allSettled(tasks);
  t.ok(outcomes.some(({ status }) => status === 'rejected'));
  const rejected = outcomes.find((outcome) => outcome.status === 'rejected');
  t.match(String(rejected?.reason), /Task queue is at limit/);
});

t.test('aborting a task that runs ends its thread, and the next task gets a new one', async (t) => {
  const pool = poolFor(t);
  const threadOf = (): number | undefined => pool.threads[0]?.threadId;
  await pool.run(undefined, { name: 'work' });
  const before = threadOf();
  const abort = new AbortController();
  const running = pool.run(undefined, { name: 'work', signal: abort.signal });
  abort.abort();
  await t.rejects(running);
  await pool.run(undefined, { name: 'work' });
  t.not(threadOf(), before);
});

t.test('writes queue on the threads of libuv behind whatever else is there', async (t) => {
  const file = fileURLToPath(new URL('./blocked-write.program.js', import.meta.url));
  const child = spawn(process.execPath, [file, join(t.testdir(), 'log')], {
    env: { ...process.env, UV_THREADPOOL_SIZE: '1' },
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  const [ends] = (await once(child, 'message')) as [string];
  t.strictSame(JSON.parse(ends), ['hash 1', 'hash 2', 'hash 3', 'write']);
});
