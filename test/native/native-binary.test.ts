import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import t, { type Test } from 'tap';
import { checkNativeBinary, knownBinaries } from '../../src/http/native-binary.js';

/** The repository, seen from build/test/native. */
const root = join(import.meta.dirname, '../../..');

/** Copies the binary that this process runs to a path that ends with `name`. */
function copyAs(t: Test, name: string): string {
  const copy = join(t.testdir(), name);
  mkdirSync(dirname(copy), { recursive: true });
  copyFileSync(checkNativeBinary().path, copy);
  return copy;
}

/** Name in the table of the binary that this process runs. */
const loaded = Object.keys(knownBinaries).find((name) =>
  checkNativeBinary().path.endsWith(name),
) as string;

t.test('the binary that this process runs is a known one', async (t) => {
  const { path, sha256, isKnown } = checkNativeBinary();
  t.ok(existsSync(path));
  t.ok(path.endsWith(loaded));
  t.match(sha256, /^[0-9a-f]{64}$/);
  t.equal(isKnown, true);
});

t.test('on Linux x64 the newer binary runs, elsewhere the older one', async (t) => {
  const { platform, arch, versions } = process;
  const isNewer = platform === 'linux' && arch === 'x64';
  const major = versions.node.split('.', 1)[0] as string;
  const older = `bin/uws_${platform}_${arch}_${versions.modules}.node`;
  t.equal(loaded, isNewer ? `@uwsjs/linux-x64-${major}/uws.node` : older);
});

t.test('the table has the checksums of the files that are installed', async (t) => {
  const packages = join(root, 'node_modules');
  let found = 0;
  for (const [name, sha256] of Object.entries(knownBinaries)) {
    const isOlder = name.startsWith('bin/');
    const path = join(packages, isOlder ? `uWebSockets.js/dist/${name}` : name);
    // npm installs the newer binary for one platform and one version of Node only.
    if (!isOlder && !existsSync(path)) continue;
    t.equal(createHash('sha256').update(readFileSync(path)).digest('hex'), sha256, name);
    found++;
  }
  t.ok(found >= 8);
});

t.test('a binary that differs by one byte is unknown', async (t) => {
  const copy = copyAs(t, loaded);
  t.equal(checkNativeBinary(copy).isKnown, true);
  const bytes = readFileSync(copy);
  bytes.writeUInt8(bytes.readUInt8(5000) ^ 1, 5000);
  writeFileSync(copy, bytes);
  t.equal(checkNativeBinary(copy).isKnown, false);
});

t.test('a known binary under the name of another one is unknown', async (t) => {
  const other = Object.keys(knownBinaries).find((name) => name !== loaded) as string;
  t.equal(checkNativeBinary(copyAs(t, other)).isKnown, false);
});

t.test('native-notes/binary.md has the same table', async (t) => {
  const page = readFileSync(join(root, 'native-notes/binary.md'), 'utf8');
  const rows = page.matchAll(/`([\w@/-]+\.node)` *\| *`([0-9a-f]{64})`/g);
  t.strictSame(Object.fromEntries([...rows].map(([, name, sha256]) => [name, sha256])), {
    ...knownBinaries,
  });
});
