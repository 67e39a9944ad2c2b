/** The ids of a restarted gateway continue after the newest request. */
import t from 'tap';
import { createIdSource, firstUlidAt, requestIdOf } from '../../src/lib/ids.js';
import type { User } from '../../src/model/records.js';
import { newestRequestId } from '../../src/signals/newest-request.js';
import { acceptedSignal } from '../support/accepted-signal.js';
import { createMemoryStore } from '../support/memory-store.js';
import { SimulatedClock } from '../support/simulated-clock.js';

const now = Date.UTC(2026, 0, 15, 12);
const hour = 3_600_000;

/** A store with users whose newest requests were accepted at these times. */
async function storeWith(...acceptedAt: readonly number[]) {
  const store = createMemoryStore();
  await store.write((batch) => {
    for (const [i, at] of acceptedAt.entries()) {
      const userId = `usr_${i}`;
      const { request } = acceptedSignal({ userId });
      batch.put('users', userId, { userId } as User);
      for (const each of [at - hour, at]) {
        const requestId = requestIdOf(firstUlidAt(each));
        batch.put('requests', [userId, requestId], { ...request, requestId });
      }
    }
  });
  return store;
}

t.test(
  'the first id after a restart follows all before, with a clock that was set back',
  async (t) => {
    const store = await storeWith(now - 5 * hour, now + 2 * hour, now);
    const newest = newestRequestId(store, now);
    t.equal(newest, requestIdOf(firstUlidAt(now + 2 * hour)));
    const clock = new SimulatedClock(now);
    const ids = createIdSource(clock, newest);
    let last = newest as string;
    for (let i = 0; i < 10; i++) {
      const next = requestIdOf(ids.ulid());
      t.ok(next > last);
      last = next;
      clock.advance(hour);
    }
    t.equal(
      last.slice(0, 14),
      requestIdOf(firstUlidAt(now + 9 * hour)).slice(0, 14),
      'and the clock again',
    );
  },
);

t.test('ids that are dated more than a day ahead are not followed', async (t) => {
  const store = await storeWith(now + 25 * hour, now - 3 * hour);
  t.equal(newestRequestId(store, now), requestIdOf(firstUlidAt(now + 24 * hour)));
});

t.test('an empty store has none', async (t) => {
  t.equal(newestRequestId(createMemoryStore(), now), undefined);
});
