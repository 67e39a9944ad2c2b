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
}

function openIn(t: Test, options: object = {}, directory = t.testdir()): Opened {
  const root = open<unknown>(directory, { noSubdir: false, overlappingSync: false, ...options });
  t.teardown(() => root.close());
  return {
    root,
    fileBytes: () => statSync(join(directory, 'data.mdb')).size,
  };
}

t.test('a throw in transactionSync() takes back all that it put', (t) => {
  const { root } = openIn(t);
  const putAndThrow = (): void => {
    root.putSync('key', 1);
    throw new Error('no');
  };
  t.throws(() => root.transactionSync(putAndThrow), /no/);
  t.equal(root.get('key'), undefined);
  t.end();
});

t.test('threads share an environment, and a turn its snapshot until it is reset', async (t) => {
  const program = startProgram(t, 'native/committing-thread', [t.testdir()]);
  t.strictSame(JSON.parse(await program.next()), [1, 1, 2]);
});

t.test('a value in memory that threads share comes to nothing good in Node 20', async (t) => {
  const file = fileURLToPath(new URL('./shared-value.program.js', import.meta.url));
  const child = spawn('/bin/sh', [
    '-c',
    'ulimit -c 0; exec "$@"',
    'sh',
    process.execPath,
    file,
    t.testdir(),
  ]);
  const [code] = (await once(child, 'close')) as [number | null];
  const isNewer = Number(process.versions.node.split('.')[0]) > 20;
  t.equal(code === 0, isNewer, 'it is another value, or the process ends');
});

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
  // The refused put leaves lmdb a task for the next turn, which fails if the environment is closed by then.
  await root.put('short', 1);
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
  // lmdb reuses a page two transactions after it was freed.
  await root.put('later', 1);
  await fill();
  t.ok(fileBytes() < 1.5 * full, `${fileBytes()} after ${full}`);
});

t.test('a range that is held open keeps the file growing', async (t) => {
  const sizes: Record<string, number> = {};
  const folder = t.testdir({ true: {}, false: {} });
  for (const held of [false, true]) {
    const { root, fileBytes } = openIn(t, {}, join(folder, `${held}`));
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

t.test('on a full disk a commit throws, keeps nothing, and later ones work', async (t) => {
  const program = startProgram(t, 'native/full-disk', [t.testdir()], { fileBlocksMax: 1000 });
  t.strictSame(JSON.parse(await program.next()), {
    hasReason: true,
    unhandled: 0,
    isLastThere: true,
    isFailedThere: false,
    isSmallThere: true,
  });
});

t.test(
  'a file that is no store, or only its beginning, ends the process by a signal',
  async (t) => {
    const file = fileURLToPath(new URL('./open-store.program.js', import.meta.url));
    const directory = t.testdir();
    for (const content of [Buffer.from('not a store'.repeat(1000)), Buffer.alloc(20)]) {
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
