import t from 'tap';
import { generatorDoubt, ratioDoubt } from '../../bench/load/generator-check.js';

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

t.test('a ratio is in doubt where the generator held back the other side', async (t) => {
  const doubtOf = (ours: number, other: number) =>
    ratioDoubt({
      ours: [{ requestsPerSecond: ours, loopShare: 0.95 }],
      other: [{ requestsPerSecond: other, loopShare: 0.6 }],
      otherName: 'bare',
      ceilingPerSecond: 12_000,
      atLeast: 0.5,
    });
  t.match(doubtOf(6_000, 10_000), /^bare is generator-bound: .*1\.20.* busy 60% of the time$/);
  t.equal(doubtOf(6_000, 8_000), undefined);
  t.equal(doubtOf(4_000, 10_000), undefined, 'missed, however fast the other side is');
});
