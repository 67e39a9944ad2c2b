/** The thread that writes to the index: what it does apart from the frames of the log, and how it ends. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import t, { type Test } from 'tap';
import { holdRecords } from '../../src/store/held-records.js';
import { IndexThread } from '../../src/store/index-thread.js';
import type { IndexAnswer } from '../../src/store/index-thread.worker.js';
import { openStore } from '../../src/store/lmdb-store.js';
import { type Store, StoreFailure, WriteRefused } from '../../src/store/store.js';
import { acceptedSignal } from '../support/accepted-signal.js';
import { canBreakDisk } from '../harness/disk/write-failure.js';
import { eventually } from '../support/eventually.js';
import { slowSweep, slowSweeper } from './slow-sweep.js';

const sweepOf = (store: Store, takesMs: number) => store.sweep(slowSweep(takesMs));

function open(t: Test): Store {
  const store = openStore(t.testdir(), { sweeper: slowSweeper });
  t.teardown(() => store.close());
  return store;
}

t.test('what a sweep has changed is seen when it resolves', async (t) => {
  const store = open(t);
  await sweepOf(store, 0);
  t.equal(store.get('meta', 'swept'), 1);
  await sweepOf(store, 0);
  t.equal(store.get('meta', 'swept'), 2);
});

t.test('a sweep that fails has changed nothing, and the next one works', async (t) => {
  const store = open(t);
  await t.rejects(sweepOf(store, 1), StoreFailure);
  t.equal(store.get('meta', 'swept'), undefined);
  await sweepOf(store, 0);
  t.equal(store.get('meta', 'swept'), 1);
});

t.test('a record that a sweep has removed is not held any longer', async (t) => {
  const store = holdRecords(open(t));
  const { request } = acceptedSignal({ userId: 'u' });
  await store.write((batch) => batch.put('requests', ['u', 'r'], request));
  await eventually(() => store.index().waitingBytes === 0);
  t.ok(store.get('requests', ['u', 'r']));
  await sweepOf(store, 0);
  t.equal(store.get('requests', ['u', 'r']), undefined);
});

t.test('writes go on beside a sweep, and it is over when the store is closed', async (t) => {
  const store = open(t);
  await sweepOf(store, 0);
  let isSwept = false;
  const swept = sweepOf(store, 400).then(() => (isSwept = true));
  await store.write((batch) => batch.put('meta', 'k', 1));
  t.notOk(isSwept);
  await store.close();
  t.ok(isSwept);
  await swept;
  await t.rejects(sweepOf(store, 0), WriteRefused);
});

function run(name: string, ...args: readonly string[]) {
  const program = fileURLToPath(new URL(`./${name}.program.js`, import.meta.url));
  return promisify(execFile)(process.execPath, [program, ...args], {
    env: { ...process.env, NODE_OPTIONS: '' },
    timeout: 60_000,
  });
}

for (const [when, outcome] of [
  ['copying', 'made'],
  ['waiting', 'the store is closed'],
] as const) {
  t.test(`a copy that is ${when} when the store is closed: ${outcome}`, async (t) => {
    const directory = t.testdir({ store: {}, copy: {} });
    const { stdout } = await run('closed-copy', `${directory}/store`, `${directory}/copy`, when);
    t.equal(stdout.trim(), outcome);
  });
}

t.test('a process that exits within a transaction ends', async (t) => {
  await t.rejects(run('exiting-sweep', t.testdir()), { code: 7, killed: false });
});

t.test(
  'a thread that cannot be started is a failure, and is started by the next question',
  async (t) => {
    // Data that cannot be passed to a thread: `new Worker` throws, as it does when there are no more threads.
    const data = { directory: (() => undefined) as unknown as string, sweeper: undefined };
    const thread = new IndexThread(data, () => 0);
    const ask = (): Promise<IndexAnswer> =>
      new Promise((resolve) => thread.ask({ sweep: slowSweep(0) }, resolve));
    t.match(await ask(), { failure: /could not be cloned/ });
    data.directory = t.testdir();
    t.match(await ask(), { failure: 'there is no sweeper' });
    await thread.end();
  },
);

interface Ended {
  readonly signal?: string | null;
  readonly stdout: string;
  readonly stderr: string;
}

const skip = canBreakDisk ? false : 'needs prlimit';
t.test('what lmdb could not take is tried again, and nothing is lost', { skip }, async (t) => {
  const directory = t.testdir();
  const ended = await run('failing-index', directory).catch((error: unknown) => error);
  const { signal, stdout, stderr } = ended as Ended;
  // lmdb may have ended the process: native-notes/lmdb.md.
  if (typeof signal === 'string') t.match(signal, /SIGABRT|SIGSEGV/);
  else {
    t.match(stdout, /^File too large/);
    t.match(
      stderr,
      /^(Write error: .*\n)+$/,
      'each line of lmdb ends, so that those of the log stay whole',
    );
  }
  const store = openStore(directory);
  t.equal(store.get('emails', 'ann'), 'u');
  await store.close();
});

for (const next of ['write', 'sweep']) {
  t.test(
    `a commit that another process has undone ends the process at the next ${next}, and is there after a start`,
    async (t) => {
      const directory = t.testdir();
      await t.rejects(run('undone-commit', directory, next), {
        code: 1,
        stdout: '',
        stderr: /CommitLost: data\.mdb lacks commits that were written to it/,
      });
      const store = openStore(directory);
      for (const name of ['a', 'b']) t.ok(store.get('emails', name), name);
      t.notOk(store.get('emails', 'c'), 'it was not acknowledged');
      await store.close();
    },
  );
}
