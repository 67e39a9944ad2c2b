import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t from 'tap';
import { readSegmentHeader, segmentHeader } from '../../../src/store/log/segment.js';
import { createSegmentFiles, numberOfSegment } from '../../../src/store/log/segment-files.js';

const isLinux = process.platform === 'linux';
/** The flag O_DSYNC, as `/proc` shows it. */
const dataSync = 0o10000;

t.test(
  'a segment is full of zeros before it is used, and its writes return when they are on disk',
  async (t) => {
    const files = createSegmentFiles(t.testdir());
    const { path, bytes } = await files.make(7, 3 * 2 ** 20 + 1);
    t.equal(bytes, 3 * 2 ** 20 + 1);
    const content = readFileSync(path);
    t.equal(content.length, bytes);
    t.ok(content.every((byte) => byte === 0));
    t.equal(statSync(path).mode & 0o777, 0o600);
    const descriptor = await files.open(path);
    if (isLinux) {
      const info = readFileSync(`/proc/self/fdinfo/${descriptor}`, 'utf8');
      t.ok(Number.parseInt(/^flags:\s*(\d+)/m.exec(info)?.[1] ?? '', 8) & dataSync);
    }
    await promisify(files.write)(descriptor, Buffer.from('there'), 5_000);
    await files.close(descriptor);
    t.equal(readFileSync(path, 'latin1').slice(4_999, 5_006), '\0there\0');
    t.equal(statSync(path).size, bytes);
  },
);

t.test('it finds its own files with their headers, and no others', async (t) => {
  const directory = t.testdir({ 'notes.txt': 'mine', '1.log': '' });
  const files = createSegmentFiles(directory);
  const header = { logId: '0123456789abcdef', sequence: 3, first: 2 ** 40 };
  const used = await files.make(10, 8192);
  const descriptor = await files.open(used.path);
  await promisify(files.write)(descriptor, segmentHeader(header), 0);
  await files.close(descriptor);
  const unused = await files.make(11, 8192);
  writeFileSync(join(directory, '0000000c.log'), 'cut off');
  const found = files.find().sort((a, b) => (a.path < b.path ? -1 : 1));
  t.match(found, [
    { path: used.path, bytes: 8192, header },
    { path: unused.path, bytes: 8192, header: undefined },
    { bytes: 7, header: undefined },
  ]);
  t.same(
    found.map(({ path }) => numberOfSegment(path)),
    [10, 11, 12],
  );
  t.equal(found[0]?.read().length, 8192);
  await files.remove(used.path);
  t.equal(files.find().length, 2);
});

t.test('what cannot be made whole is not there', async (t) => {
  const directory = t.testdir();
  const files = createSegmentFiles(directory);
  await t.rejects(createSegmentFiles(join(directory, 'missing')).make(1, 8192), { code: 'ENOENT' });
  await files.make(1, 8192);
  await t.rejects(files.make(1, 8192), { code: 'EEXIST' }, 'nothing is overwritten');
  t.equal(files.find().length, 1);
});

t.test('a header that was changed anywhere is none', (t) => {
  const block = segmentHeader({ logId: '0123456789abcdef', sequence: 9, first: 12_345 });
  t.strictSame(readSegmentHeader(block), {
    logId: '0123456789abcdef',
    sequence: 9,
    first: 12_345,
  });
  for (let i = 0; i < 64; i++) {
    const changed = Buffer.from(block);
    changed[i] = (changed[i] as number) ^ 0x10;
    t.equal(readSegmentHeader(changed), undefined, `byte ${i}`);
  }
  t.equal(readSegmentHeader(Buffer.alloc(4096)), undefined);
  t.equal(readSegmentHeader(block.subarray(0, 63)), undefined);
  t.end();
});
