import t from 'tap';
import { alternate, samplesOf, turns } from '../../bench/measure/rounds.js';

t.test('two sides take turns A B B A', async (t) => {
  const order = (rounds: number) =>
    turns(['A', 'B'], rounds)
      .map(({ side }) => side)
      .join('');
  t.equal(order(2), 'ABBA');
  t.equal(order(5), 'ABBAABBAAB');
  t.same(turns(['A', 'B'], 2)[2], { side: 'B', round: 1 });
});

t.test('every turn ends before the next begins, and lands with its side', async (t) => {
  const log: string[] = [];
  const measured = await alternate(['A', 'B'], 2, async (side, round) => {
    log.push(`${side}${round} begins`);
    await Promise.resolve();
    log.push(`${side}${round} ends`);
    return { perSecond: side === 'A' ? round : 10 + round };
  });
  t.same(
    log.filter((_, i) => i % 2 === 1),
    ['A0 ends', 'B0 ends', 'B1 ends', 'A1 ends'],
  );
  t.same(samplesOf(measured.A, 'perSecond'), [0, 1]);
  t.same(samplesOf(measured.B, 'perSecond'), [10, 11]);
  t.throws(() => samplesOf(measured.A, 'p99Ms'), /did not measure "p99Ms"/);
});
