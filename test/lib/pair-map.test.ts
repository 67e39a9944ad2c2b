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
