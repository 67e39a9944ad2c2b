import t from 'tap';
import { leaveChangeNotice } from '../../src/auth/change-notice.js';
import { ChangeWatch } from '../../src/store/change-watch.js';
import { WriteQueue } from '../../src/store/write-queue.js';
import { createMemoryStore } from '../support/memory-store.js';
import { SimulatedClock } from '../support/simulated-clock.js';
import { turns } from '../support/simulated-gateway.js';

t.test('a notice is obeyed within 50 ms, once, and removed', async (t) => {
  const { clock, store, heard, leave } = setUp();
  await leave('u1');
  clock.advance(49);
  t.strictSame(heard, []);
  clock.advance(1);
  t.strictSame(heard, ['u1']);
  clock.advance(50);
  t.strictSame(heard, ['u1'], 'also before its removal is on disk');
  await turns();
  t.equal(store.range('changes').length, 0);
});

t.test('notices are obeyed in order, also those that were left while nobody looked', async (t) => {
  const { clock, heard, leave, watch } = setUp();
  watch.stop();
  await leave('u1');
  await leave('*');
  await leave('u1');
  clock.advance(1_000);
  t.strictSame(heard, []);
  watch.start();
  clock.advance(50);
  t.strictSame(heard, ['u1', '*', 'u1']);
});

t.test('numbers go on after removals, so that no notice is taken for an old one', async (t) => {
  const { clock, heard, leave } = setUp();
  for (const userId of ['u1', 'u2', 'u3']) {
    await leave(userId);
    clock.advance(50);
    await turns();
  }
  t.strictSame(heard, ['u1', 'u2', 'u3']);
});

t.test('a crowd of notices is obeyed to the last, also while none can be removed', async (t) => {
  const { clock, store, heard } = setUp();
  await store.transact((transaction) => {
    for (let i = 0; i < 600; i++) leaveChangeNotice(transaction, `u${i}`);
  });
  store.failNextCommits(1_000);
  for (let i = 0; i < 5; i++) {
    clock.advance(50);
    await turns();
  }
  t.equal(heard.length, 600);
  t.equal(heard.at(-1), 'u599');
  t.equal(new Set(heard).size, 600);
});

t.test('stopped, it looks no more', async (t) => {
  const { clock, heard, leave, watch } = setUp();
  watch.stop();
  await leave('u1');
  clock.advance(1_000);
  t.strictSame(heard, []);
  t.equal(clock.timerCount, 0);
});

function setUp() {
  const clock = new SimulatedClock();
  const store = createMemoryStore();
  const writer = new WriteQueue(store);
  const heard: string[] = [];
  const watch = new ChangeWatch({
    store,
    writer,
    clock,
    onChange: (userId) => heard.push(userId),
    onArrival: (userId) => heard.push(`${userId} arrives`),
  });
  watch.start();
  const leave = (userId: string) =>
    store.transact((transaction) => leaveChangeNotice(transaction, userId));
  return { clock, store, heard, watch, leave };
}
