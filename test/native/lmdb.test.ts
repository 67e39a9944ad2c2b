/** What lmdb itself does, below our store: native-notes/lmdb.md. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { open, type RootDatabase } from 'lmdb';
import t, { type Test } from 'tap';
import { startProgram } from '../support/program.js';

interface Opened {
  readonly root: RootDatabase<unknown>;
  readonly fileBytes: () => number;
  readonly transactions: () => number;
}

function openIn(t: Test, options: object = {}): Opened {
  const directory = t.testdir();
  const root = open<unknown>(directory, { noSubdir: false, overlappingSync: false, ...options });
  t.teardown(() => root.close());
  return {
    root,
    fileBytes: () => statSync(join(directory, 'data.mdb')).size,
    transactions: () => (root.getStats() as { lastTxnId: number }).lastTxnId,
  };
}

t.test(
  'a throw in transaction() commits what came before; childTransaction() rolls back',
  async (t) => {
    const { root } = openIn(t);
    const putAndThrow = (key: string) => () => {
      void root.put(key, 1);
      throw new Error('no');
    };
    await t.rejects(root.transaction(putAndThrow('plain')), /no/);
    await t.rejects(root.childTransaction(putAndThrow('child')), /no/);
    t.equal(root.get('plain'), 1);
    t.equal(root.get('child'), undefined);
  },
);

t.test('the writes of a turn share one promise, and above 1000 a second one', async (t) => {
  const { root, transactions } = openIn(t);
  for (const [writes, promises] of [
    [1, 1],
    [1000, 1],
    [1001, 2],
    [5000, 2],
  ] as const) {
    const before = transactions();
    const seen = new Set<Promise<boolean>>();
    for (let i = 0; i < writes; i++) seen.add(root.put(i, writes));
    await Promise.all(seen);
    t.equal(seen.size, promises, `${writes} writes`);
    t.equal(transactions() - before, 1, 'in one transaction');
  }
});

t.test(
  'a synchronous write is a transaction of its own and overtakes what its turn wrote',
  async (t) => {
    const { root, transactions } = openIn(t);
    const deeds: Record<string, () => unknown> = {
      putSync: () => root.putSync('key', 'later call'),
      transactionSync: () => root.transactionSync(() => root.put('key', 'later call')),
    };
    for (const [what, deed] of Object.entries(deeds)) {
      const before = transactions();
      const first = root.put('key', 'earlier call');
      deed();
      await first;
      t.equal(transactions() - before, 2, what);
      t.equal(root.get('key'), 'earlier call', what);
    }
  },
);

t.test('its own encoding makes one key of two, in strings from 64 characters on', async (t) => {
  const { root } = openIn(t);
  const long = 'x'.repeat(64);
  await root.put(['u', `${long}\0y`], 'nul');
  t.equal(root.get(['u', long, 'y']), 'nul');
  await root.put(`\ud800${long}`, 'lone surrogate');
  t.equal(root.get(`\ud801${long}`), 'lone surrogate');
  await root.put(['u', 'x\0y'], 'short');
  t.equal(root.get(['u', 'x', 'y']), undefined, 'shorter ones are kept apart');
});

t.test('a key has at most 1978 bytes', async (t) => {
  const { root } = openIn(t);
  await root.put('k'.repeat(1978), 1);
  t.throws(() => root.put('k'.repeat(1979), 1), /larger than the maximum key size \(1978\)/);
});

t.test('mapSize is no limit: the file grows beyond it', async (t) => {
  const mapSize = 1 << 20;
  const { root, fileBytes } = openIn(t, { mapSize });
  for (let i = 0; i < 100; i++) await root.put(i, 'x'.repeat(50_000));
  t.ok(fileBytes() > 4 * mapSize, `${fileBytes()} bytes`);
});

t.test('what is removed makes room, but the file stays as large as it was', async (t) => {
  const { root, fileBytes } = openIn(t);
  const fill = (): Promise<unknown> =>
    Promise.all(Array.from({ length: 200 }, (_, i) => root.put(i, 'x'.repeat(20_000))));
  await fill();
  const full = fileBytes();
  await Promise.all(Array.from({ length: 200 }, (_, i) => root.remove(i)));
  t.ok(fileBytes() >= full);
  // A page is free for use two transactions after it was left.
  await root.put('later', 1);
  await fill();
  t.ok(fileBytes() < 1.5 * full, `${fileBytes()} after ${full}`);
});

t.test('a range that is held open keeps the file growing', async (t) => {
  const sizes: Record<string, number> = {};
  for (const held of [false, true]) {
    const { root, fileBytes } = openIn(t);
    const rewrite = async (): Promise<void> => {
      for (let i = 0; i < 100; i++) void root.put(i, 'x'.repeat(2000));
      await root.flushed;
    };
    await rewrite();
    const range = held ? root.getRange()[Symbol.iterator]() : undefined;
    range?.next();
    for (let round = 0; round < 40; round++) await rewrite();
    range?.return?.();
    sizes[`${held}`] = fileBytes();
  }
  t.ok((sizes['true'] as number) > 5 * (sizes['false'] as number), JSON.stringify(sizes));
});

t.test('maxDbs counts: one database more than that is refused', async (t) => {
  const { root } = openIn(t, { maxDbs: 2 });
  root.openDB('a', {});
  root.openDB('b', {});
  t.throws(() => root.openDB('c', {}), /MDB_DBS_FULL/);
});

t.test('after close, reads and writes throw at the call', async (t) => {
  const { root } = openIn(t);
  await root.put('key', 1);
  await root.close();
  t.throws(() => root.get('key'), /closed database/);
  t.throws(() => root.put('key', 2), /Database is closed/);
});

t.test('on a full disk two rejections escape whoever catches the write’s own', async (t) => {
  const program = startProgram(t, 'native/full-disk', [t.testdir()], { fileBlocksMax: 1000 });
  t.strictSame(JSON.parse(await program.next()), {
    message: 'Commit failed (see commitError for details)',
    hasPromiseOfReason: true,
    unhandled: 2,
    smallWriteLater: true,
  });
});

t.test('commits queue on the threads of libuv behind whatever else is there', async (t) => {
  const directory = t.testdir();
  const file = fileURLToPath(new URL('./blocked-commit.program.js', import.meta.url));
  const child = spawn(process.execPath, [file, directory], {
    env: { ...process.env, UV_THREADPOOL_SIZE: '1' },
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  const [ends] = (await once(child, 'message')) as [string];
  t.strictSame(JSON.parse(ends), ['hash 1', 'hash 2', 'hash 3', 'write']);
});

t.test(
  'a file that is no store, or only its beginning, ends the process by a signal',
  async (t) => {
    const file = fileURLToPath(new URL('./open-store.program.js', import.meta.url));
    for (const content of [Buffer.from('not a store'.repeat(1000)), Buffer.alloc(20)]) {
      const directory = t.testdir();
      writeFileSync(join(directory, 'data.mdb'), content);
      const child = spawn('/bin/sh', [
        '-c',
        'ulimit -c 0; exec "$@"',
        'sh',
        process.execPath,
        file,
        directory,
      ]);
      const [code, signal] = (await once(child, 'close')) as [number | null, string | null];
      t.equal(code, null);
      t.type(signal, 'string');
    }
  },
);
