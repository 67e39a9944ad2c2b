import { chmodSync, existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { isStoreDirectory, prepareDataDirectory } from '../../src/store/data-directory.js';
import { readJwtSecret } from '../../src/store/jwt-secret.js';
import { openStore } from '../../src/store/lmdb-store.js';
import { StoreRefused } from '../../src/store/refusal.js';

const noProc = existsSync('/proc/self') ? false : 'there is no /proc here';

function modeOf(path: string): number {
  return statSync(path).mode & 0o777;
}

for (const umask of [0o000, 0o777]) {
  t.test(
    `a new directory is the owner's alone, also with umask ${umask.toString(8)}`,
    async (t) => {
      const directory = join(t.testdir(), 'data');
      const before = process.umask(umask);
      t.teardown(() => process.umask(before));
      t.equal(prepareDataDirectory(directory), undefined);
      t.equal(modeOf(directory), 0o700);
    },
  );
}

t.test('a directory that others use is not closed to them', (t) => {
  const folder = t.testdir({ shared: { theirs: {} }, config: { 'config.json': '{}', log: {} } });
  const shared = join(folder, 'shared');
  for (const name of ['shared', 'config']) chmodSync(join(folder, name), 0o755);
  t.throws(() => prepareDataDirectory(shared), { message: /has other directories .*--data-dir/ });
  t.equal(modeOf(shared), 0o755);
  t.match(prepareDataDirectory(join(folder, 'config')), /is now closed/);
  t.end();
});

t.test('a backup that was cut off is no data directory, and is not made one', async (t) => {
  const directory = t.testdir({ 'jwt-secret': '', unfinished: { 'data.mdb': 'half' } });
  t.throws(() => prepareDataDirectory(directory), { message: /was cut off .* Start with/s });
  t.same(readdirSync(directory).sort(), ['jwt-secret', 'unfinished']);
  await openStore(directory).close();
  t.doesNotThrow(() => prepareDataDirectory(directory), 'once the store is there it is whole');
});

const twoPages = 8192;
for (const [what, size, log] of [
  ['nothing', 0, {}],
  ['empty pages', 2 * twoPages, {}],
  ['empty pages beside a new disk for the log', 2 * twoPages, { 'lost+found': {} }],
] as const) {
  t.test(
    `of a first start that a power cut ended, ${what} is no store, and is made one`,
    async (t) => {
      const data = Buffer.alloc(size);
      const directory = t.testdir({ 'unfinished-store': '', 'data.mdb': data, log });
      t.notOk(isStoreDirectory(directory));
      await openStore(directory).close();
      t.ok(isStoreDirectory(directory));
      t.notOk(readdirSync(directory).includes('unfinished-store'));
    },
  );
}

t.test('without that mark, or beside a log, empty pages are a damaged store', (t) => {
  const data = Buffer.alloc(2 * twoPages);
  const directories = {
    unmarked: { 'data.mdb': data, log: {} },
    restored: { 'unfinished-store': '', 'data.mdb': data, log: { '00000000.log': '' } },
  };
  const folder = t.testdir(directories);
  for (const name of Object.keys(directories)) {
    const directory = join(folder, name);
    t.throws(() => openStore(directory), { message: /is not a store, or is damaged/ }, name);
    t.equal(statSync(join(directory, 'data.mdb')).size, data.length, 'and is left as it is');
  }
  t.end();
});

t.test('the directories above a new one are made too', async (t) => {
  const directory = join(t.testdir(), 'a', 'b');
  prepareDataDirectory(directory);
  t.ok(existsSync(directory));
});

t.test('where no directory can be made, that is said', { skip: noProc }, async (t) => {
  for (const directory of ['/proc/signalbox', '/proc/a/b']) {
    t.throws(() => prepareDataDirectory(directory), { message: /cannot be used: ENOENT/ });
  }
});

t.test('a directory that is open to others is closed to them, with a warning', async (t) => {
  const directory = t.testdir();
  chmodSync(directory, 0o755);
  t.match(prepareDataDirectory(directory), /mode 755.*jwt-secret/);
  t.equal(modeOf(directory), 0o700);
  t.equal(prepareDataDirectory(directory), undefined, 'once closed, there is nothing to warn of');
});

t.test('a data directory that is a file is refused', async (t) => {
  const directory = t.testdir({ data: 'a file' });
  t.throws(() => prepareDataDirectory(join(directory, 'data')), StoreRefused);
  t.equal(modeOf(join(directory, 'data')) & 0o100, 0, 'and keeps its mode');
});

t.test('the secret is made at the first start and kept, for the owner alone', async (t) => {
  const folder = t.testdir({ one: {}, other: {} });
  const directory = join(folder, 'one');
  const umask = process.umask(0);
  t.teardown(() => process.umask(umask));
  const secret = readJwtSecret(directory);
  t.match(secret, /^[\w-]{43}$/);
  t.equal(readJwtSecret(directory), secret);
  t.equal(modeOf(join(directory, 'jwt-secret')), 0o600);
  t.same(readdirSync(directory), ['jwt-secret'], 'no draft of it stays behind');
  t.not(readJwtSecret(join(folder, 'other')), secret);
});

t.test('a secret that others could read is closed to them', async (t) => {
  const directory = t.testdir({ 'jwt-secret': `${'s'.repeat(43)}\n` });
  chmodSync(join(directory, 'jwt-secret'), 0o644);
  t.equal(readJwtSecret(directory), 's'.repeat(43));
  t.equal(modeOf(join(directory, 'jwt-secret')), 0o600);
});

t.test('a given secret replaces the kept one, and makes none', async (t) => {
  const directory = t.testdir();
  t.equal(readJwtSecret(directory, 'g'.repeat(40)), 'g'.repeat(40));
  t.same(readdirSync(directory), []);
});

t.test('a secret that is no secret is refused', async (t) => {
  const directory = t.testdir({ 'jwt-secret': '' });
  t.throws(() => readJwtSecret(directory), {
    name: 'StoreRefused',
    message: /jwt-secret is damaged/,
  });
  t.throws(() => readJwtSecret(directory, 'short'), {
    message: /SIGNALBOX_JWT_SECRET is too short/,
  });
});
