import fs, { closeSync, openSync, readdirSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import t, { type Test } from 'tap';
import { countOpenFiles } from '../../src/lib/file-limit.js';

function replaceStat(t: Test, statSync: () => object): void {
  const { statSync: real } = fs;
  const set = (each: unknown): void => {
    Object.assign(fs, { statSync: each });
    syncBuiltinESMExports();
  };
  set(statSync);
  t.teardown(() => set(real));
}

t.test('every file that is open is counted', { skip: process.platform !== 'linux' }, async (t) => {
  const before = countOpenFiles() ?? NaN;
  // The listing has the directory itself.
  t.equal(before, readdirSync('/proc/self/fd').length - 1);
  const files = Array.from({ length: 100 }, () => openSync('/dev/null', 'r'));
  t.equal(countOpenFiles(), before + files.length);
  files.forEach(closeSync);
  t.equal(countOpenFiles(), before);
});

t.test('an older system, which tells no size, lists them', async (t) => {
  const before = countOpenFiles();
  replaceStat(t, () => ({ size: 0 }));
  t.equal(countOpenFiles(), before);
});

t.test('a system without /proc does not tell, and a scrape does not fail', async (t) => {
  replaceStat(t, () => {
    throw new Error('no such directory');
  });
  t.equal(countOpenFiles(), undefined);
});
