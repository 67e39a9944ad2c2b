import assert from 'node:assert/strict';
import fc from 'fast-check';
import t from 'tap';
import { FrameMemory } from '../../src/store/frame-memory.js';
import { FrameWriter } from '../../src/store/frame-writer.js';
import type { GroupCommit } from '../../src/store/group-commit.js';
import { Overlay, type Seen } from '../../src/store/overlay.js';
import type { Writer } from '../../src/store/store.js';
import { textOf, WriteGroup } from '../../src/store/write-group.js';
import { noGaps } from './no-gaps.js';

function setUp() {
  const overlay = new Overlay();
  const memory = new FrameMemory();
  const begin = (): WriteGroup => new WriteGroup(memory.begin(), 0);
  const writeTo = (group: WriteGroup, fill: (batch: Writer) => void): void => {
    const commits = { join: () => group } as unknown as GroupCommit;
    new FrameWriter({ commits, memory, overlay, gaps: noGaps }).run(fill);
    memory.close(group.span);
  };
  const putTo = (group: WriteGroup, key: string, value: number): void =>
    writeTo(group, (batch) => batch.put('meta', key, value));
  return {
    overlay,
    begin,
    writeTo,
    putTo,
    /** Puts the value at one key, in a group of its own. */
    put: (value: number): WriteGroup => {
      const group = begin();
      putTo(group, 'k', value);
      return group;
    },
    seen: (versions: Seen = 'flushed'): string | undefined => {
      const version = overlay.get('meta', 'k', versions);
      return version && textOf(version);
    },
  };
}

t.test('readers see the newest flushed version, transactions the newest', (t) => {
  const { overlay, put, seen } = setUp();
  const first = put(1);
  t.equal(seen(), undefined);
  t.equal(seen('written'), '1');
  overlay.flushed(first);
  put(2);
  t.equal(seen(), '1');
  t.equal(seen('written'), '2');
  t.end();
});

t.test('what the index has is not seen here, under a version that is not flushed either', (t) => {
  const { overlay, put, seen } = setUp();
  const first = put(1);
  overlay.flushed(first);
  const second = put(2);
  overlay.drop(first);
  t.equal(seen(), undefined, 'the index has it');
  t.equal(seen('written'), '2');
  overlay.revert(second);
  t.equal(seen('written'), undefined, 'and it does not come back');
  t.equal(overlay.size, 0);
  t.end();
});

t.test('what was replaced before the index had it goes, and its successor stays', (t) => {
  const { overlay, put, seen } = setUp();
  const groups = [put(1), put(2)];
  for (const group of groups) overlay.flushed(group);
  overlay.drop(groups[0] as WriteGroup);
  t.equal(seen(), '2');
  overlay.drop(groups[1] as WriteGroup);
  t.equal(overlay.size, 0);
  t.end();
});

const byNumber = (a: number, b: number): number => a - b;

/** Key → the values that a group has put, newest last. */
type Put = ReadonlyMap<number, readonly number[]>;

t.test('each key shows what a list of the groups says, whatever became of them', (t) => {
  const keys = [0, 1, 2];
  const put = fc.tuple(fc.constant('put' as const), fc.constantFrom(...keys));
  const step = fc.oneof(
    { weight: 3, arbitrary: put },
    fc.constantFrom(['next'] as const, ['flush'] as const, ['revert'] as const, ['drop'] as const),
  );
  const property = fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
    const { overlay, putTo, begin } = setUp();
    const live: { group: WriteGroup; puts: Map<number, number[]> }[] = [];
    let value = 0;
    let last: WriteGroup | undefined;
    for (const [kind, key = 0] of steps) {
      if (kind === 'next' || (kind === 'put' && last === undefined)) {
        last = begin();
        live.push({ group: last, puts: new Map() });
      }
      const newest = live.at(-1);
      if (kind === 'put' && newest !== undefined) {
        putTo(newest.group, String(key), ++value);
        newest.puts.set(key, [...(newest.puts.get(key) ?? []), value]);
      } else if (kind === 'revert' && newest?.group.isFlushed === false) {
        overlay.revert(newest.group);
        live.pop();
        last = undefined;
      } else if (kind === 'flush') {
        const oldest = live.find(({ group }) => !group.isFlushed)?.group;
        if (oldest !== undefined) overlay.flushed(oldest);
        if (oldest === last) last = undefined;
      } else if (kind === 'drop' && live[0]?.group.isFlushed === true) {
        overlay.drop(live[0].group);
        live.shift();
      }
      for (const seen of ['flushed', 'written'] as const) {
        const puts = live
          .filter(({ group }) => seen === 'written' || group.isFlushed)
          .map((each): Put => each.puts);
        const newestOf = (key: number) =>
          puts
            .findLast((each) => each.has(key))
            ?.get(key)
            ?.at(-1);
        for (const key of keys) {
          const version = overlay.get('meta', String(key), seen);
          assert.equal(version && textOf(version), newestOf(key)?.toString());
        }
        const all = overlay.all('meta', seen, () => true).map((each) => Number(textOf(each)));
        const expected = keys.map(newestOf).filter((each) => each !== undefined);
        assert.deepEqual(all.sort(byNumber), expected.sort(byNumber));
      }
    }
    for (const { group } of live.reverse()) overlay.revert(group);
    assert.equal(overlay.size, 0);
  });
  fc.assert(property, { numRuns: 500 });
  t.end();
});

// With and without a larger table on the way.
for (const count of [300, 2_000]) {
  t.test(`${count} keys are told apart by collection and by each of their parts`, (t) => {
    const { overlay, begin, writeTo } = setUp();
    const parts = ['', 'a', 'b1', 'ab', '1', 'a b', ' b1'];
    const names = ['signalIds', 'cancelKeys'] as const;
    // Texts without an order that the hash could keep, so that some share a bucket.
    const mixed = (number: number): string => Math.imul(number, 0x9e37_79b1).toString(36).repeat(3);
    const numbers = Array.from({ length: count }, (_, i): [string, string] => ['u', mixed(i + 1)]);
    const keys = [...parts.flatMap((a) => parts.map((b): [string, string] => [a, b])), ...numbers];
    const put = (text: string, remainder: number): WriteGroup => {
      const group = begin();
      for (const name of names) {
        writeTo(group, (batch) => {
          keys.forEach(
            (key, i) => i % 2 === remainder && batch.put(name, key, `${text} ${name} ${i}`),
          );
        });
      }
      return group;
    };
    const check = (even: string | undefined, odd: string): void => {
      for (const name of names) {
        keys.forEach((key, i) => {
          const version = overlay.get(name, key, 'written');
          const text = i % 2 === 0 ? even : odd;
          assert.equal(version && textOf(version), text && `"${text} ${name} ${i}"`);
        });
      }
    };
    const groups = [put('first', 0), put('second', 1)] as const;
    for (const group of groups) overlay.flushed(group);
    check('first', 'second');
    const third = put('third', 1);
    check('first', 'third');
    overlay.drop(groups[0]);
    check(undefined, 'third');
    overlay.revert(third);
    check(undefined, 'second');
    t.equal(overlay.get('signalIds', ['u', '-'], 'written'), undefined);
    t.equal(overlay.get('signalIds', ['u', 'x'.repeat(5_000)], 'written'), undefined);
    overlay.drop(groups[1]);
    t.equal(overlay.size, 0);
    t.end();
  });
}
