import { closeSync, openSync, readdirSync } from 'node:fs';
import t from 'tap';
import { countOpenFiles } from '../../src/lib/file-limit.js';

t.test('every file that is open is counted', { skip: process.platform !== 'linux' }, async (t) => {
  const before = countOpenFiles();
  // The listing has the directory itself.
  t.equal(before, readdirSync('/proc/self/fd').length - 1);
  const files = Array.from({ length: 100 }, () => openSync('/dev/null', 'r'));
  t.equal(countOpenFiles(), before + files.length);
  files.forEach(closeSync);
  t.equal(countOpenFiles(), before);
});
