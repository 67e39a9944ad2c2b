/** A page of a user's signals: what it holds, where the next begins, and that its work is bounded. */
import t from 'tap';
import { executionIdOf, requestIdOf } from '../../src/lib/ids.js';
import { takeAll } from '../../src/lib/turn.js';
import type { Execution, ExecutionStatus } from '../../src/model/execution.js';
import type { SignalRequest } from '../../src/model/records.js';
import { SignalPage, type PageFilter, type PageQuery } from '../../src/signals/signal-page.js';
import { SignalReader } from '../../src/signals/signal-reader.js';
import type { Reader } from '../../src/store/store.js';
import { createMemoryStore, type MemoryStore } from '../support/memory-store.js';
import { SimulatedClock } from '../support/simulated-clock.js';
import { SimulatedGateway } from '../support/simulated-gateway.js';

/** Records as the gateway stores them, to be copied under other ids. */
const model = await (async () => {
  const gateway = new SimulatedGateway();
  await gateway.plugin();
  const [executionId] = await gateway.submit();
  const [row] = gateway.store.range('requests');
  return { request: row?.record as SignalRequest, execution: gateway.execution(executionId ?? '') };
})();

const idOf = (number: number): string => requestIdOf(String(number).padStart(26, '0'));

interface Stored {
  readonly statuses: readonly ExecutionStatus[];
  /** Index of an execution that is final and waits for its cancel, or all of them. */
  readonly cancelling?: number | 'all';
  readonly userId?: string;
  readonly payload?: string;
}

/** Stores request `number` of a user. */
async function put(store: MemoryStore, number: number, wish: Stored): Promise<void> {
  const requestId = idOf(number);
  const { statuses, userId = 'u1' } = wish;
  await store.write((batch) => {
    batch.put('requests', [userId, requestId], {
      ...model.request,
      requestId,
      payload: wish.payload ?? '{}',
      executionCount: statuses.length,
    });
    for (const [index, status] of statuses.entries()) {
      const executionId = executionIdOf(requestId, index);
      const execution: Execution = { ...model.execution, executionId, requestId, status };
      const isFinal = status === 'filled' || status === 'denied' || status === 'unknown';
      const waits = wish.cancelling === 'all' || wish.cancelling === index;
      const place = isFinal && !waits ? 'finalExecutions' : 'openExecutions';
      batch.put(place, [userId, executionId], execution);
    }
  });
}

function read(store: Reader, wish: Partial<PageQuery> = {}, clock = new SimulatedClock()) {
  const query = { userId: 'u1', filter: 'all' as PageFilter, limit: 200, before: undefined };
  const reader = new SignalReader({ store, fillsMax: 10_000 });
  const page = new SignalPage(reader, { ...query, ...wish }, clock).steps();
  let steps = 1;
  let step = page.next();
  for (; step.done !== true; step = page.next()) steps++;
  const { signals, next } = JSON.parse(step.value) as { signals: any[]; next: string | null };
  return { ids: signals.map(({ requestId }) => Number(requestId.slice(4))), next, steps, signals };
}

const store = createMemoryStore();
// oxfmt-ignore
const stored: Record<number, Stored> = {
  1: { statuses: ['filled'] },
  2: { statuses: ['working'] },
  3: { statuses: ['filled', 'queued'] },
  4: { statuses: ['denied', 'filled', 'unknown'] },
  5: { statuses: ['unknown'], cancelling: 0 },
  6: { statuses: Array.from({ length: 12 }, () => 'working') },
  7: { statuses: ['queued'] },
};
for (const [number, wish] of Object.entries(stored)) await put(store, Number(number), wish);
await put(store, 99, { statuses: ['working'], userId: 'u2' });
await put(store, 98, { statuses: ['filled'], userId: 'u2' });

const expected: Record<PageFilter, number[]> = {
  all: [7, 6, 5, 4, 3, 2, 1],
  open: [7, 6, 3, 2],
  completed: [5, 4, 1],
};

for (const [filter, ids] of Object.entries(expected) as [PageFilter, number[]][]) {
  t.test(`${filter}: newest first, each once, on pages of any size`, async (t) => {
    t.same(read(store, { filter }).ids, ids);
    t.equal(read(store, { filter }).next, null, 'nothing is left');
    for (let limit = 1; limit <= ids.length; limit++) {
      const found: number[] = [];
      let before: string | undefined;
      for (;;) {
        const page = read(store, { filter, limit, before });
        t.ok(page.ids.length <= limit);
        found.push(...page.ids);
        if (page.next === null) break;
        before = page.next;
      }
      t.same(found, ids, `${limit} a page`);
    }
  });
}

t.test(
  'a signal is completed once all its executions are, however many wait for a cancel',
  async (t) => {
    const store = createMemoryStore();
    const statuses = Array.from({ length: 99 }, (): ExecutionStatus => 'unknown');
    await put(store, 1, { statuses, cancelling: 'all' });
    await put(store, 2, { statuses: [...statuses, 'working'], cancelling: 'all' });
    t.same(read(store, { filter: 'completed' }).ids, [1]);
    t.same(read(store, { filter: 'open' }).ids, [2]);
  },
);

t.test('before need not be a request that exists, and is not on the page', async (t) => {
  for (const filter of ['all', 'open'] as const) {
    t.same(read(store, { filter, before: idOf(3) }).ids, filter === 'all' ? [2, 1] : [2]);
    t.same(read(store, { filter, before: idOf(50) }).ids, expected[filter]);
    t.same(read(store, { filter, before: idOf(0) }).ids, []);
  }
});

t.test('a signal on a page is as its own answer', async (t) => {
  const reader = new SignalReader({ store, fillsMax: 10_000 });
  const { signals } = read(store);
  for (const signal of signals) {
    t.same(signal, JSON.parse(reader.read('u1', signal.requestId)?.json().toString() ?? ''));
  }
  t.equal(reader.read('u2', idOf(7)), undefined, 'another user has none of them');
});

/** Counts what is read of the store. */
function counting(memory: MemoryStore) {
  const counts = { gets: 0, rows: 0, keys: 0 };
  const store: MemoryStore = {
    ...memory,
    get(...args) {
      counts.gets++;
      return memory.get(...args);
    },
    range(...args) {
      const rows = memory.range(...args);
      counts.rows += rows.length;
      return rows;
    },
    keys(...args) {
      const keys = memory.keys(...args);
      counts.keys += keys.length;
      return keys;
    },
  };
  return { store, counts };
}

const many = 3_000;

t.test('open ones are found at once among completed ones, however many there are', async (t) => {
  const { store, counts } = counting(createMemoryStore());
  await put(store, 1, { statuses: ['working'] });
  for (let number = 2; number <= many; number++) await put(store, number, { statuses: ['filled'] });
  const page = read(store, { filter: 'open' });
  t.same(page.ids, [1]);
  t.equal(page.next, null);
  t.ok(counts.gets < 10 && counts.rows === 0 && counts.keys < 10, JSON.stringify(counts));
});

t.test('a walk past open ones ends early, and the next page goes on', async (t) => {
  const { store, counts } = counting(createMemoryStore());
  await put(store, 1, { statuses: ['filled'] });
  for (let number = 2; number <= many; number++) {
    await put(store, number, { statuses: ['working'] });
  }
  const first = read(store, { filter: 'completed' });
  t.same(first.ids, []);
  t.ok(first.next !== null, 'there is more to look at');
  t.ok(counts.gets + counts.rows <= 2_100, JSON.stringify(counts));
  t.ok(first.steps > 5, `in ${first.steps} steps`);
  const found: number[] = [];
  for (let { next } = first, pages = 1; next !== null; pages++) {
    const page = read(store, { filter: 'completed', before: next });
    found.push(...page.ids);
    next = page.next;
    if (pages > many) break;
  }
  t.same(found, [1]);
});

t.test('a page of the largest limit is full of signals with one execution', async (t) => {
  const store = createMemoryStore();
  for (let number = 1; number <= 201; number++) await put(store, number, { statuses: ['filled'] });
  const page = read(store, { limit: 200 });
  t.equal(page.ids.length, 200);
  t.equal(page.next, idOf(2));
});

t.test('a page ends by the size of its text, after one signal at least', async (t) => {
  const store = createMemoryStore();
  const statuses = Array.from({ length: 64 }, (): ExecutionStatus => 'working');
  for (let number = 1; number <= 40; number++) await put(store, number, { statuses });
  const page = read(store);
  t.ok(page.ids.length >= 1 && page.ids.length < 20, `${page.ids.length} signals`);
  t.ok(JSON.stringify(page.signals).length < 400_000);
  t.equal(page.next, idOf(41 - page.ids.length));
  const huge = Array.from({ length: 2_000 }, (): ExecutionStatus => 'working');
  await put(store, 50, { statuses: huge });
  t.same(read(store).ids, [50], 'however large the one is');
});

t.test('what is removed while the page is made is passed over', async (t) => {
  const store = createMemoryStore();
  for (let number = 1; number <= 100; number++) await put(store, number, { statuses: ['filled'] });
  const query = { userId: 'u1', filter: 'all' as const, limit: 200, before: undefined };
  const page = new SignalPage(
    new SignalReader({ store, fillsMax: 10_000 }),
    query,
    new SimulatedClock(),
  ).steps();
  t.equal(page.next().done, false);
  await store.write((batch) => {
    for (let number = 1; number <= 90; number++) batch.remove('requests', ['u1', idOf(number)]);
  });
  const { signals, next } = JSON.parse(takeAll(page)) as { signals: unknown[]; next: null };
  t.ok(signals.length < 20);
  t.equal(next, null);
});

t.test('a long request is listed once, and the steps after it list the others', async (t) => {
  const store = createMemoryStore();
  for (let number = 1; number <= 100; number++) await put(store, number, { statuses: ['filled'] });
  await put(store, 101, { statuses: Array<'filled'>(8).fill('filled') });
  await store.write((batch) => {
    for (const { key, record } of store.range('finalExecutions').slice(-8)) {
      const native = { orderId: null, state: null, code: null, text: 'x'.repeat(8_192) };
      batch.put('finalExecutions', key, { ...record, native });
    }
  });
  const { ids, steps } = read(store);
  t.same(
    ids,
    Array.from({ length: 101 }, (_, index) => 101 - index),
  );
  t.ok(steps > 5, `in ${steps} steps`);
});

t.test('a step ends after a few milliseconds, however long each look-up takes', async (t) => {
  const clock = new SimulatedClock();
  const slow: Reader = {
    ...store,
    range(collection, range) {
      clock.elapse(1);
      return store.range(collection, range);
    },
  };
  const page = read(slow, { filter: 'completed' }, clock);
  t.same(page.ids, expected.completed);
  t.equal(page.steps, 4, 'two of the seven requests in each');
});
