import t from 'tap';
import { generatorDoubt } from '../../bench/load/generator-check.js';

t.test('a generator that is clearly faster than the server is trusted', async (t) => {
  t.equal(generatorDoubt({ perSecond: 10_000, ceilingPerSecond: 15_000 }), undefined);
  t.match(
    generatorDoubt({ perSecond: 10_000, ceilingPerSecond: 14_900 }),
    /^generator-bound: .*1\.49/,
  );
});

t.test(
  'a server whose event loop has no time left is measured, however fast the generator',
  async (t) => {
    const level = { perSecond: 10_000, ceilingPerSecond: 10_000 };
    t.equal(generatorDoubt({ ...level, loopShare: 0.95 }), undefined);
    t.match(generatorDoubt({ ...level, loopShare: 0.8 }), /busy 80% of the time/);
  },
);
