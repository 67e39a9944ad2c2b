import { existsSync, readdirSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { createUserFile } from '../../src/transfer/user-file.js';

const descriptors = '/proc/self/fd';
const skip = existsSync(descriptors) ? false : 'there is no /proc';

function openIn(folder: string): string[] {
  const targets = readdirSync(descriptors).map((name) => {
    try {
      return readlinkSync(join(descriptors, name));
    } catch {
      return 'closed meanwhile';
    }
  });
  return targets.filter((target) => target.startsWith(folder));
}

t.test(
  'a file that is dropped leaves nothing on the disk and nothing open',
  { skip },
  async (t) => {
    const folder = t.testdir();
    const file = createUserFile(join(folder, 'ann'));
    t.equal(openIn(folder).length, 1);
    file.drop();
    t.same(openIn(folder), []);
    t.same(readdirSync(folder), []);
  },
);

t.test('a file that cannot be put in its place leaves nothing open', { skip }, async (t) => {
  const folder = t.testdir({ ann: 'made meanwhile' });
  const file = createUserFile(join(folder, 'ann'));
  t.throws(() => file.finish(), { code: 'EEXIST' });
  file.drop();
  t.same(openIn(folder), []);
  t.same(readdirSync(folder), ['ann']);
});
