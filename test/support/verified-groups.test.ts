import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import {
  fingerprintOf,
  type Group,
  groupOf,
  groups,
  isVerified,
  platform,
  recordVerified,
} from './verified-groups.js';

const group: Group = { name: 'native', folders: ['notes', 'test/native'], tests: /^native\// };

const tree = () => ({
  'package-lock.json': '{}',
  notes: { 'a.md': 'a', deeper: { 'b.md': 'b' } },
  test: { native: { 'one.test.ts': '1' }, other: { 'two.test.ts': '2' } },
});

function repository(t: Test): string {
  return t.testdir(tree());
}

t.test('a group without a record is not verified', async (t) => {
  t.equal(isVerified(repository(t), group), false);
});

t.test('a group that is recorded is verified, in a copy of the tree too', async (t) => {
  const root = repository(t);
  recordVerified(root, group);
  t.equal(isVerified(root, group), true);
  const recorded: unknown = JSON.parse(readFileSync(join(root, 'test/verified.json'), 'utf8'));
  t.same(recorded, { native: { [platform]: fingerprintOf(root, group) } });
  t.match(platform, new RegExp(`^node${process.versions.node.split('.')[0] ?? ''}-`));
});

t.test('each change of the lock file or of a folder makes the record stale', async (t) => {
  const changes: Record<string, (root: string) => void> = {
    'the lock file': (root) => writeFileSync(join(root, 'package-lock.json'), '{ }'),
    'a changed file': (root) => writeFileSync(join(root, 'notes/deeper/b.md'), 'c'),
    'a new file': (root) => writeFileSync(join(root, 'test/native/new.ts'), ''),
    'a removed file': (root) => rmSync(join(root, 'notes/a.md')),
    'a renamed file': (root) => {
      rmSync(join(root, 'notes/a.md'));
      writeFileSync(join(root, 'notes/z.md'), 'a');
    },
    'content that moved from one file to the next': (root) => {
      writeFileSync(join(root, 'notes/a.md'), '');
      writeFileSync(join(root, 'notes/deeper/b.md'), 'ab');
    },
  };
  const names = Object.keys(changes);
  const folder = t.testdir(Object.fromEntries(names.map((name) => [name, tree()])));
  for (const [name, change] of Object.entries(changes)) {
    const root = join(folder, name);
    recordVerified(root, group);
    change(root);
    t.equal(isVerified(root, group), false, name);
  }
});

t.test('packages that are installed in a folder change nothing', async (t) => {
  const root = repository(t);
  recordVerified(root, group);
  mkdirSync(join(root, 'notes/node_modules/peer'), { recursive: true });
  writeFileSync(join(root, 'notes/node_modules/peer/index.js'), '');
  t.equal(isVerified(root, group), true);
});

t.test('a change of what it depends on beside files makes the record stale', async (t) => {
  const root = repository(t);
  let subject = 'one';
  const other = { ...group, subject: () => subject };
  recordVerified(root, other);
  t.equal(isVerified(root, other), true);
  subject = 'two';
  t.equal(isVerified(root, other), false);
});

t.test('what is elsewhere in the tree changes nothing', async (t) => {
  const root = repository(t);
  recordVerified(root, group);
  writeFileSync(join(root, 'test/other/two.test.ts'), '3');
  mkdirSync(join(root, 'src'));
  t.equal(isVerified(root, group), true);
});

t.test('a record keeps other groups and other platforms', async (t) => {
  const root = repository(t);
  const others = { bench: { [platform]: 'b' }, native: { 'node1-plan9-vax': 'n' } };
  writeFileSync(join(root, 'test/verified.json'), JSON.stringify(others));
  t.equal(isVerified(root, group), false, 'another platform’s record is none of this one');
  recordVerified(root, group);
  t.equal(isVerified(root, group), true);
  t.match(JSON.parse(readFileSync(join(root, 'test/verified.json'), 'utf8')), others);
});

t.test('each group of the table has folders that exist and tests of its own', async (t) => {
  const root = join(import.meta.dirname, '../../..');
  const files = readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => name.replace(/ts$/, 'js'));
  for (const group of groups) {
    t.match(fingerprintOf(root, group), /^[0-9a-f]{64}$/, group.name);
    t.ok(files.filter((file) => groupOf(file) === group).length > 0, group.name);
  }
  t.equal(groupOf('native/notes.test.js'), undefined, 'the notes’ links are always checked');
  t.equal(groupOf('lib/ids.test.js'), undefined);
});
