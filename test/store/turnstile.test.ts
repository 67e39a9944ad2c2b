import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { tryLock, unlock } from 'fs-native-extensions';
import t, { type Test } from 'tap';
import { systemClock } from '../../src/lib/clock.js';
import { openStore } from '../../src/store/lmdb-store.js';
import { StoreRefused } from '../../src/store/refusal.js';
import { StoreFailure } from '../../src/store/store.js';
import { Turnstile } from '../../src/store/turnstile.js';
import { eventually } from '../support/eventually.js';
import { startProgram } from '../support/program.js';
import { SimulatedClock } from '../support/simulated-clock.js';

/** Another process, as far as locks can tell: it opens the store and takes its time. */
function stranger(t: Test, directory: string) {
  const file = openSync(join(directory, 'store.lock'), 'a+');
  t.teardown(() => closeSync(file));
  return {
    announce: () => tryLock(file, 0, 1),
    begin: () => tryLock(file, 1, 1),
    end: () => unlock(file, 0, 2),
  };
}

t.test('what was acknowledged stays, however often others open the store meanwhile', async (t) => {
  const directory = t.testdir();
  const store = openStore(directory);
  await store.write((batch) => batch.put('meta', 'n', 0));
  const openers = [1, 2, 3].map(() => startProgram(t, 'store/opener', [directory]));
  await Promise.all(openers.map((opener) => opener.next()));
  const count = 1_500;
  for (let n = 1; n <= count; n++) {
    await store.write((batch) => {
      batch.put('meta', `n${n}`, n);
      batch.put('meta', 'n', n);
    });
    // A transaction that overwrote another one would show in either.
    if (store.get('meta', `n${n - 1}`) !== n - 1 && n > 1) t.fail(`${n - 1} is gone`);
  }
  for (const opener of openers) opener.say('end');
  for (const opener of openers) t.match(await opener.next(), /^\d+ times$/);
  t.equal(store.keys('meta', { start: 'n', end: 'o' }).length, count + 1);
  await store.close();
});

t.test(
  'while somebody opens, writes wait, and are then made in the order of the calls',
  async (t) => {
    const directory = t.testdir();
    const store = openStore(directory);
    const other = stranger(t, directory);
    await store.write((batch) => batch.put('meta', 'list', ''));
    t.ok(
      other.announce() && other.begin(),
      'nobody who has the store open and is idle is in the way',
    );
    const append = (text: string) => () =>
      store.transact((transaction) => {
        transaction.put('meta', 'list', `${String(transaction.get('meta', 'list'))}${text}`);
      });
    const told: string[] = [];
    const works = [
      append('a'),
      () => store.write((batch) => batch.put('meta', 'list', 'b')),
      append('c'),
      () => store.write(() => undefined),
      append('d'),
    ];
    const done = works.map(async (work, index) => {
      await work();
      told.push(`${index}`);
    });
    for (let i = 0; i < 20; i++) await new Promise(setImmediate);
    t.strictSame(told, []);
    t.equal(store.get('meta', 'list'), '');
    other.end();
    await Promise.all(done);
    t.equal(store.get('meta', 'list'), 'bcd');
    t.ok(other.announce() && other.begin(), 'and when all are made, the way is free again');
    other.end();
    await store.close();
  },
);

t.test('who commits without a pause makes way for who opens', async (t) => {
  const directory = t.testdir();
  const store = openStore(directory);
  const other = stranger(t, directory);
  let isOver = false;
  let written = 0;
  const writers = Array.from({ length: 8 }, async () => {
    while (!isOver) {
      await store.write((batch) => batch.put('meta', 'n', ++written));
    }
  });
  await eventually(() => written > 50);
  await eventually(() => other.announce());
  await eventually(() => other.begin());
  const before = store.get('meta', 'n');
  for (let i = 0; i < 50; i++) await new Promise(setImmediate);
  t.equal(store.get('meta', 'n'), before, 'nobody commits now');
  other.end();
  const after = written;
  await eventually(() => written > after + 50);
  isOver = true;
  await Promise.all(writers);
  t.equal(store.get('meta', 'n'), written);
  await store.close();
});

t.test('an open that does not end is a failure for who writes, and not for ever', async (t) => {
  const directory = t.testdir();
  const clock = new SimulatedClock();
  const turnstile = new Turnstile(directory, clock);
  const other = stranger(t, directory);
  other.announce();
  t.equal(turnstile.enter(), false);
  const refused = turnstile.wait(() => Promise.resolve('made'));
  clock.advance(10_000);
  await t.rejects(refused, StoreFailure);
  const made = turnstile.wait(() => Promise.resolve('made'));
  other.end();
  t.equal(await made, 'made');
  turnstile.rest();
  turnstile.close();
});

t.test('who has waited hears of the commit in the order of the calls', async (t) => {
  const directory = t.testdir();
  const store = openStore(directory);
  const other = stranger(t, directory);
  const told: number[] = [];
  const written: Promise<void>[] = [];
  for (let round = 0; round < 40; round++) {
    await eventually(() => other.announce());
    for (let turn = 0; turn < 30; turn++) {
      if (turn === 15) other.end();
      for (let i = 0; i < 3; i++) {
        const number = written.length;
        const write = store.write((batch) => batch.put('meta', 'n', number));
        written.push(write.then(() => void told.push(number)));
      }
      await new Promise(setImmediate);
    }
  }
  await Promise.all(written);
  t.strictSame(told, [...written.keys()]);
  await store.close();
});

t.test('a store can be closed while somebody opens it, and then waits for that', async (t) => {
  const directory = t.testdir();
  const store = openStore(directory);
  const other = stranger(t, directory);
  other.announce();
  const written = store.write((batch) => batch.put('meta', 'n', 1));
  const closed = store.close();
  for (let i = 0; i < 20; i++) await new Promise(setImmediate);
  other.end();
  await Promise.all([written, closed]);
  const again = openStore(directory);
  t.equal(again.get('meta', 'n'), 1);
  await again.close();
});

t.test('who opens is refused when somebody commits and does not let go', async (t) => {
  const directory = t.testdir();
  const other = stranger(t, directory);
  other.begin();
  let asked = 0;
  const turnstile = new Turnstile(directory, {
    ...systemClock,
    monotonic: () => (asked++ === 0 ? 0 : 10_001),
  });
  t.throws(() => turnstile.open(() => undefined), StoreRefused);
  turnstile.close();
});
