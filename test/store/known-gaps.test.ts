/** Names that are known to be new without a look-up: the names of bots that count, and never a stored one. */
import fc from 'fast-check';
import t from 'tap';
import type { Collection, KeyOf } from '../../src/store/key-layout.js';
import { KnownGaps } from '../../src/store/known-gaps.js';
import type { Range, Reader } from '../../src/store/store.js';

const numRuns = process.env['TEST_ALL'] === undefined ? 2_000 : 50_000;

/** The names of one user, in the order of their bytes. */
function setUp(options: { isDear?: boolean } = {}) {
  const stored = new Set<string>();
  let ranges = 0;
  const keys = <C extends Collection>(_: C, { start, prefix }: Range<C> = {}): KeyOf<C>[] => {
    ranges++;
    const bytes = (name: string): Buffer => Buffer.from(name);
    const from = bytes((start as [string, string])[1]);
    const all = [...stored].filter((name) => Buffer.compare(bytes(name), from) >= 0);
    all.sort((a, b) => Buffer.compare(bytes(a), bytes(b)));
    return all.slice(0, 1).map((name) => [prefix?.[0], name] as KeyOf<C>);
  };
  const gaps = new KnownGaps({
    readers: [{ keys } as Reader],
    isDear: () => options.isDear ?? false,
  });
  return {
    stored,
    ranges: () => ranges,
    /** @returns whether the name was known to be new. */
    lookUp: (name: string): boolean => {
      const isKnown = gaps.contain('signalIds', ['user', name]);
      if (!isKnown && !stored.has(name)) gaps.missed('signalIds', ['user', name]);
      return isKnown;
    },
    put: (name: string): void => {
      gaps.leave('signalIds', ['user', name]);
      stored.add(name);
    },
    gaps,
  };
}

const numbered = (prefix: string, n: number): string => `${prefix}-${String(n).padStart(6, '0')}`;

t.test('no name that is stored is taken for a new one', async (t) => {
  const character = fc.constantFrom(' ', 'a', 'b', '~', '\u0001', 'é', '\uFFFD', '😀');
  const name = fc.array(character, { maxLength: 3 }).map((all) => all.join(''));
  const step = fc.record({ name, isPut: fc.boolean() });
  const property = fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
    const { stored, lookUp, put } = setUp();
    for (const { name, isPut } of steps) {
      if (isPut) put(name);
      if (lookUp(name) && stored.has(name)) return false;
      for (const each of stored) if (lookUp(each)) return false;
    }
    return true;
  });
  fc.assert(property, { numRuns });
  t.pass('in every state');
});

t.test(
  'the names of bots that count are known to be new, but for one that comes late',
  async (t) => {
    const { lookUp, put, ranges } = setUp();
    for (const each of ['a', 'aa-000000', 'b-5', 'zz']) put(each);
    let known = 0;
    for (let n = 1; n <= 1_000; n++) {
      // One name of a hundred changes places with the next.
      const at = n + ([1, -1][n % 100] ?? 0);
      for (const bot of ['aa', 'b', 'm']) {
        if (lookUp(numbered(bot, at))) known++;
        put(numbered(bot, at));
      }
    }
    t.ok(known > 2_950, `${known} of 3000`);
    t.ok(ranges() < 20, `${ranges()} ranges were read`);
  },
);

t.test('names without an order cost few ranges', async (t) => {
  const { lookUp, put, ranges } = setUp();
  let state = 1;
  for (let n = 0; n < 5_000; n++) {
    state = (state * 48_271) % 2_147_483_647;
    const name = state.toString(36);
    lookUp(name);
    put(name);
  }
  t.ok(ranges() < 60, `${ranges()} ranges were read`);
});

t.test('a name is stored as long as any reader sees it', async (t) => {
  const readerOf = (name: string): Reader =>
    ({ keys: () => [['user', name]] }) as unknown as Reader;
  for (const names of [
    ['c', 'd'],
    ['d', 'c'],
  ]) {
    const gaps = new KnownGaps({ readers: names.map(readerOf), isDear: () => false });
    for (const name of ['a', 'a']) gaps.missed('signalIds', ['user', name]);
    t.ok(gaps.contain('signalIds', ['user', 'b']));
    t.notOk(gaps.contain('signalIds', ['user', 'c']));
    t.notOk(gaps.contain('signalIds', ['user', 'cc']));
  }
});

t.test('no range is read while that is dear, nor for other collections', async (t) => {
  const { lookUp, put, ranges, gaps } = setUp({ isDear: true });
  for (let n = 0; n < 100; n++) {
    t.notOk(lookUp(numbered('a', n)));
    put(numbered('a', n));
  }
  for (let n = 0; n < 100; n++) gaps.missed('requests', ['user', numbered('a', n)]);
  t.notOk(gaps.contain('requests', ['user', numbered('a', 100)]));
  t.equal(ranges(), 0);
});
