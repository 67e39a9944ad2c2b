import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import t from 'tap';
import { checkNativeBinary, knownBinaries } from '../../src/http/native-binary.js';

/** The repository, seen from build/test/native. */
const root = join(import.meta.dirname, '../../..');

t.test('the binary that this process runs is a known one', async (t) => {
  const { path, sha256, isKnown } = checkNativeBinary();
  t.ok(existsSync(path));
  t.match(path, `_${process.versions.modules}.node`);
  t.match(sha256, /^[0-9a-f]{64}$/);
  t.equal(isKnown, true);
});

t.test('the table has the checksums of the files that the package ships', async (t) => {
  const directory = dirname(checkNativeBinary().path);
  for (const [name, sha256] of Object.entries(knownBinaries)) {
    const file = readFileSync(join(directory, name));
    t.equal(createHash('sha256').update(file).digest('hex'), sha256, name);
  }
});

t.test('a binary that differs by one byte is unknown', async (t) => {
  const { path } = checkNativeBinary();
  const copy = join(t.testdir(), basename(path));
  copyFileSync(path, copy);
  t.equal(checkNativeBinary(copy).isKnown, true);
  const bytes = readFileSync(copy);
  bytes.writeUInt8(bytes.readUInt8(5000) ^ 1, 5000);
  writeFileSync(copy, bytes);
  t.equal(checkNativeBinary(copy).isKnown, false);
});

t.test('a known binary under the name of another one is unknown', async (t) => {
  const { path } = checkNativeBinary();
  const other = Object.keys(knownBinaries).find((name) => name !== basename(path)) as string;
  const copy = join(t.testdir(), other);
  copyFileSync(path, copy);
  t.equal(checkNativeBinary(copy).isKnown, false);
});

t.test('native-notes/binary.md has the same table', async (t) => {
  const page = readFileSync(join(root, 'native-notes/binary.md'), 'utf8');
  const rows = page.matchAll(/`(uws_\w+\.node)` *\| *`([0-9a-f]{64})`/g);
  t.strictSame(Object.fromEntries([...rows].map(([, name, sha256]) => [name, sha256])), {
    ...knownBinaries,
  });
});
