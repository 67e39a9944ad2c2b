import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import t from 'tap';
import { PairMap } from '../../src/lib/pair-map.js';

const step = fc.record({
  do: fc.constantFrom('set', 'delete'),
  owner: fc.constantFrom('a', 'b', 'c'),
  name: fc.constantFrom('x', 'y'),
  value: fc.nat(),
});

t.test('it is a map by owner and name', async (t) => {
  const property = fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
    const pairs = new PairMap<number>();
    const model = new Map<string, number>();
    for (const { do: what, owner, name, value } of steps) {
      if (what === 'set') {
        pairs.set(owner, name, value);
        model.set(`${owner} ${name}`, value);
      } else {
        pairs.delete(owner, name);
        model.delete(`${owner} ${name}`);
      }
      t.same([...pairs.values()].sort(), [...model.values()].sort());
      for (const owner of ['a', 'b', 'c']) {
        for (const name of ['x', 'y']) {
          t.equal(pairs.get(owner, name), model.get(`${owner} ${name}`));
        }
      }
    }
  });
  fc.assert(property);
});

t.test('nothing of a deleted entry waits for a full collection', async (t) => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as (how?: { type: 'minor' }) => void;
  const pairs = new PairMap<number[]>();
  const [count, length, held] = [2_000, 256, 20];
  const nameOf = (i: number): string => Buffer.alloc(length * 8, `name ${i} `).toString('latin1');
  let before = 0;
  for (let i = -count; i < count; i++) {
    if (i === 0) {
      collect();
      before = process.memoryUsage().heapUsed;
    }
    pairs.set('user', nameOf(i), new Array<number>(length).fill(i));
    pairs.delete('user', nameOf(i - held));
    if (i % 50 === 0) collect({ type: 'minor' });
  }
  collect({ type: 'minor' });
  const kept = process.memoryUsage().heapUsed - before;
  t.ok(kept < 0.25 * count * length * 8, `${kept} bytes of 2,000 names and values are kept`);
});

t.test(
  'it has as many buckets as entries, so that a look-up does not grow with them',
  async (t) => {
    const pairs = new PairMap<number>();
    for (let i = 0; i < 100_000; i++) pairs.set(`owner ${i % 7}`, `name ${i}`, i);
    for (let i = 0; i < 100_000; i++) {
      if (pairs.get(`owner ${i % 7}`, `name ${i}`) !== i) t.fail(`name ${i}`);
      pairs.delete(`owner ${i % 7}`, `name ${i}`);
    }
    t.same([...pairs.values()], []);
  },
);
