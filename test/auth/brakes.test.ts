import t from 'tap';
import { halt, readHalt } from '../../src/auth/brakes.js';
import { createMemoryStore } from '../support/memory-store.js';

t.test(
  'of a halt that goes on the time stays, and a new reason replaces the old one',
  async (t) => {
    const store = createMemoryStore();
    t.teardown(() => store.close());
    const haltFor = (reason: string | null, now: number) =>
      store.transact((transaction) => halt(transaction, reason, now));
    const first = { halted: true, reason: 'first', since: 1 };
    t.strictSame(await haltFor('first', 1), first);
    t.strictSame(await haltFor(null, 2), first);
    t.strictSame(await haltFor('second', 3), { ...first, reason: 'second' });
    t.strictSame(readHalt(store), { ...first, reason: 'second' });
  },
);
