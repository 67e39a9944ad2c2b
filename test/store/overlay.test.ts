import t from 'tap';
import { FrameMemory } from '../../src/store/frame-memory.js';
import { FrameWriter } from '../../src/store/frame-writer.js';
import type { GroupCommit } from '../../src/store/group-commit.js';
import { mapKeyOf, newestFlushed, newestOfAll, Overlay } from '../../src/store/overlay.js';
import { textOf, WriteGroup } from '../../src/store/write-group.js';

function setUp() {
  const overlay = new Overlay();
  const memory = new FrameMemory();
  return {
    overlay,
    /** A group of its own that puts the value at one key. */
    put: (value: number): WriteGroup => {
      const group = new WriteGroup(memory.begin(), 0);
      const commits = { join: () => group } as unknown as GroupCommit;
      new FrameWriter({ commits, memory, overlay }).run((batch) => batch.put('meta', 'k', value));
      memory.close(group.span);
      return group;
    },
    seen: (choice = newestFlushed): string | undefined => {
      const version = choice(overlay.newest('meta', 'k'));
      return version && textOf(version);
    },
  };
}

t.test('readers see the newest flushed version, transactions the newest', (t) => {
  const { overlay, put, seen } = setUp();
  const first = put(1);
  t.equal(seen(), undefined);
  t.equal(seen(newestOfAll), '1');
  overlay.flushed(first);
  put(2);
  t.equal(seen(), '1');
  t.equal(seen(newestOfAll), '2');
  t.end();
});

t.test('what the index has is not seen here, under a version that is not flushed either', (t) => {
  const { overlay, put, seen } = setUp();
  const first = put(1);
  overlay.flushed(first);
  const second = put(2);
  overlay.drop(first);
  t.equal(seen(), undefined, 'the index has it');
  t.equal(seen(newestOfAll), '2');
  overlay.revert(second);
  t.equal(seen(newestOfAll), undefined, 'and it does not come back');
  t.equal(overlay.all('meta').size, 0);
  t.end();
});

t.test('what was replaced before the index had it goes, and its successor stays', (t) => {
  const { overlay, put, seen } = setUp();
  const groups = [put(1), put(2)];
  for (const group of groups) overlay.flushed(group);
  overlay.drop(groups[0] as WriteGroup);
  t.equal(seen(), '2');
  overlay.drop(groups[1] as WriteGroup);
  t.equal(overlay.all('meta').size, 0);
  t.end();
});

t.test('different keys have different keys of the map', (t) => {
  const keys = [
    ['a', 'b1'],
    ['ab', '1'],
    ['', 'ab1'],
    ['a b', '1'],
    ['a', ' b1'],
  ] as const;
  t.equal(new Set(keys.map((key) => mapKeyOf([...key]))).size, keys.length);
  const sources = [
    ['a', 'b', 'c', ''],
    ['a', 'b', '', 'c'],
    ['a', '', 'b', 'c'],
    ['', '1', '1', '1'],
  ] as const;
  t.equal(new Set(sources.map((key) => mapKeyOf([...key]))).size, sources.length);
  t.end();
});
