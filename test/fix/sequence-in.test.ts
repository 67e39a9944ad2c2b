/** Messages that have come ahead of a gap, and how long the gap stays open. */
import t from 'tap';
import { SequenceIn } from '../../src/fix/sequence-in.js';
import { message } from './memory-desk.js';

function kept(sequence: SequenceIn, ...numbers: number[]): SequenceIn {
  for (const seq of numbers) sequence.keep(seq, message(`35=0|34=${seq}`));
  return sequence;
}

t.test('what has come ahead is in order, and gone once it is taken or passed over', async (t) => {
  const sequence = kept(new SequenceIn(2), 9, 4, 10, 2);
  t.strictSame(sequence.keptBelow(10), [2, 4, 9]);
  t.strictSame(sequence.take(), message('35=0|34=2'));
  t.equal(sequence.take(), undefined);
  sequence.skipTo(9);
  t.strictSame(sequence.keptBelow(100), [9, 10]);
  sequence.clear();
  t.strictSame(sequence.keptBelow(100), []);
});

t.test('a gap ends behind the number up to which it was asked for', async (t) => {
  const sequence = new SequenceIn(2);
  sequence.skipTo(3);
  sequence.ask(5, 0);
  for (const [next, hasGap] of [
    [4, true],
    [5, true],
    [6, false],
  ] as const) {
    sequence.skipTo(next);
    t.equal(sequence.hasGap, hasGap);
  }
  sequence.ask(9, 0);
  sequence.clear();
  t.equal(sequence.hasGap, false);
});

t.test(
  'what was asked for is asked for again each time that it has not come for so long',
  async (t) => {
    const sequence = new SequenceIn(2);
    t.equal(sequence.asksAgain(100, 10), false);
    sequence.ask(5, 100);
    const asked = [109, 110, 119, 120].map((now) => sequence.asksAgain(now, 10));
    t.strictSame(asked, [false, true, false, true]);
    sequence.skipTo(6);
    t.equal(sequence.hasGap, false, 'and no longer than before');
  },
);

t.test(
  'a gap that is being filled is not asked for again: the answer would come twice',
  async (t) => {
    const sequence = new SequenceIn(2);
    sequence.ask(50, 0);
    const asked = [9, 18, 27].map((now, index) => {
      sequence.skipTo(3 + index);
      return sequence.asksAgain(now, 10);
    });
    t.strictSame(asked, [false, false, false]);
    t.strictSame(
      [36, 37].map((now) => sequence.asksAgain(now, 10)),
      [false, true],
      'unless it stops',
    );
  },
);

t.test('so many are kept ahead and no more: what is beyond is resent', async (t) => {
  const numbers = Array.from({ length: 10_001 }, (_, index) => index + 3);
  const sequence = kept(new SequenceIn(2), ...numbers);
  t.equal(sequence.keptBelow(Infinity).length, 10_000);
});
