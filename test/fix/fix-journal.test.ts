/** What the journal of a session keeps over restarts, and for how long. */
import t from 'tap';
import { FixJournal, type SentOrder } from '../../src/fix/fix-journal.js';
import { dayMs } from '../../src/lib/durations.js';
import { SimulatedClock } from '../support/simulated-clock.js';
import { memoryFile } from './memory-desk.js';

const called = { instrument: 'EUR/USD', side: '1', quantity: '100', timeInForce: 'day' } as const;

function orderOf(clOrdId: string, seq: number, life = 1): Omit<SentOrder, 'sentAt'> {
  return { ...called, clOrdId, executionId: `exe_${clOrdId}`, seq, life };
}

function cancelOf(clOrdId: string, order: string, seq: number, life = 1) {
  return { clOrdId, cancelRequestId: `can_${clOrdId}`, executionId: `exe_${order}`, seq, life };
}

class Journals {
  readonly clock = new SimulatedClock();
  isKnown = true;
  file = memoryFile();
  synced = 0;
  closed = 0;

  open(): FixJournal {
    const file = {
      ...this.file,
      sync: () => void this.synced++,
      close: () => void this.closed++,
    };
    return new FixJournal(file, () => this.isKnown, this.clock);
  }

  /** The next process: it reads what is in the file. */
  next(): FixJournal {
    this.file = memoryFile(this.file.content());
    return this.open();
  }
}

t.test(
  'numbers, orders, cancels and the life of the sequence are those of before, twice',
  async (t) => {
    const journals = new Journals();
    const { clock } = journals;
    const first = journals.open();
    const { begunAt } = first;
    t.equal(begunAt, clock.now());
    t.strictSame([first.numbers, first.life], [{ out: 1, in: 1 }, 1]);
    first.noteOrder(orderOf('a', 2));
    first.noteReset();
    first.noteOrder(orderOf('b', 3, 2));
    first.noteCancel(cancelOf('ca', 'a', 4, 2));
    first.noteCancel(cancelOf('cb', 'b', 5, 2));
    first.noteCancel(cancelOf('cc', 'b', 6, 2));
    first.noteTaken(first.order('a') as SentOrder);
    first.noteSettled(cancelOf('cb', 'b', 5, 2), false);
    first.noteSettled(cancelOf('cc', 'b', 6, 2), true);
    first.flush({ out: 8, in: 9 });
    const sentAt = clock.now();
    clock.advance(1_000);
    for (const journal of [first, journals.next(), journals.next()]) {
      t.strictSame(journal.numbers, { out: 8, in: 9 });
      t.equal(journal.life, 2);
      t.equal(journal.begunAt, begunAt);
      t.strictSame(journal.orders(), [
        { ...orderOf('a', 2), sentAt, isTaken: true },
        { ...orderOf('b', 3, 2), sentAt },
      ]);
      t.equal(journal.orderOf('exe_b')?.clOrdId, 'b');
      t.strictSame(journal.cancelsOf('exe_a'), [cancelOf('ca', 'a', 4, 2)]);
      t.strictSame(journal.cancelsOf('exe_b'), []);
      t.strictSame(
        ['ca', 'cb', 'cc', 'no'].map((name) => journal.cancelled(name)),
        ['exe_a', 'exe_b', 'exe_b', undefined],
      );
      const unanswered = ['ca', 'cb', 'cc'].map(
        (name) => journal.unanswered(name)?.cancelRequestId,
      );
      t.strictSame(unanswered, ['can_ca', undefined, 'can_cc']);
      t.strictSame(
        [journal.mayBeCancelled('exe_a'), journal.mayBeCancelled('exe_b')],
        [true, true],
      );
    }
    for (const numbers of [
      { out: 9, in: 9 },
      { out: 9, in: 10 },
    ]) {
      journals.next().flush(numbers);
      t.strictSame(journals.next().numbers, numbers, 'of either side alone');
    }
  },
);

t.test('what has not changed is not written again, and each flush is durable', async (t) => {
  const journals = new Journals();
  const journal = journals.open();
  journal.noteOrder(orderOf('a', 2));
  journal.noteTaken(journal.order('a') as SentOrder);
  journal.flush({ out: 3, in: 2 });
  const lines = journals.file.content().length;
  journal.noteTaken(journal.order('a') as SentOrder);
  journal.flush({ out: 3, in: 2 });
  t.equal(journals.file.content().length, lines);
  t.equal(journals.synced, 2);
  journal.close();
  t.equal(journals.closed, 1);
});

t.test(
  'an order is kept for a day, and longer where the plugin knows it; its cancels go with it',
  async (t) => {
    const journals = new Journals();
    const first = journals.open();
    first.noteOrder(orderOf('a', 2));
    first.noteCancel(cancelOf('ca', 'a', 3));
    first.noteCancel(cancelOf('cb', 'a', 4));
    first.noteSettled(cancelOf('cb', 'a', 4), true);
    const names = (journal: FixJournal): unknown[] => [
      journal.order('a')?.clOrdId,
      journal.orderOf('exe_a')?.clOrdId,
      journal.cancelled('ca'),
      journal.cancelled('cb'),
    ];
    const kept = ['a', 'a', 'exe_a', 'exe_a'];
    journals.clock.advance(2 * dayMs);
    t.strictSame(names(journals.next()), kept);
    journals.isKnown = false;
    t.strictSame(names(journals.next()), [undefined, undefined, undefined, undefined]);
    const second = journals.next();
    second.noteOrder(orderOf('a', 5));
    second.noteCancel(cancelOf('ca', 'a', 6));
    second.noteCancel(cancelOf('cb', 'a', 7));
    second.noteSettled(cancelOf('cb', 'a', 7), true);
    journals.clock.advance(dayMs - 1);
    t.strictSame(names(journals.next()), kept);
    journals.clock.advance(1);
    t.strictSame(names(journals.next()), [undefined, undefined, undefined, undefined]);
  },
);

t.test('the cancels of an order are told without a look at those of others', async (t) => {
  const journals = new Journals();
  const journal = journals.open();
  let looks = 0;
  for (let at = 0; at < 20; at++) {
    journal.noteCancel({
      ...cancelOf(`c${at}`, 'other', at),
      get executionId() {
        looks++;
        return 'exe_other';
      },
    });
  }
  const cancel = cancelOf('ca', 'a', 3);
  journal.noteOrder(orderOf('a', 2));
  const told = (of: FixJournal): unknown => [
    of.cancelsOf('exe_a').map(({ clOrdId }) => clOrdId),
    of.mayBeCancelled('exe_a'),
  ];
  const states: readonly [change: (journal: FixJournal) => void, told: unknown][] = [
    [() => undefined, [[], false]],
    [(journal) => journal.noteCancel(cancel), [['ca'], true]],
    [(journal) => journal.noteSettled(cancel, true), [[], true]],
    [(journal) => journal.noteSettled(cancel, false), [[], false]],
  ];
  looks = 0;
  for (const [change, expected] of states) {
    change(journal);
    t.strictSame(told(journal), expected);
  }
  t.equal(looks, 0);
  const others = new Journals();
  let next = others.open();
  next.noteOrder(orderOf('a', 2));
  for (const [change, expected] of states) {
    change(next);
    next = others.next();
    t.strictSame(told(next), expected, 'after a restart');
  }
});

t.test('a journal at work stays bounded', async (t) => {
  const journals = new Journals();
  const journal = journals.open();
  let rewritten = 0;
  for (let out = 2; out <= 50_000; out++) {
    const before = journals.file.content().length;
    journal.flush({ out, in: 1 });
    if (journals.file.content().length < before) rewritten++;
  }
  t.equal(rewritten, 2, 'each time that it has grown by many entries');
  t.strictSame(journals.next().numbers, { out: 50_000, in: 1 });
});

t.test(
  'in a file of an earlier version the outcome of a cancel does not say of which order',
  async (t) => {
    const journals = new Journals();
    const lines: unknown[] = [
      { kind: 'order', order: orderOf('a', 2) },
      { kind: 'cancel', cancel: cancelOf('ca', 'a', 3) },
      { kind: 'settled', clOrdId: 'ca' },
      { kind: 'settled', clOrdId: 'of an order that was dropped' },
    ];
    journals.file = memoryFile(lines.map((line) => JSON.stringify(line)));
    const journal = journals.open();
    t.equal(journal.cancelled('ca'), 'exe_a');
    t.equal(journal.unanswered('ca'), undefined);
    t.strictSame(journal.cancelsOf('exe_a'), []);
    t.equal(journal.begunAt, 0, 'nothing is known to be lost');
    journals.isKnown = false;
    t.strictSame(journals.next().orders(), [], 'without a time it is old');
  },
);
