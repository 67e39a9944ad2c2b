/** The operator's list of signals: what it finds, and that it reads no more than it must. */
import t from 'tap';
import { signalOperations } from '../../src/admin/signal-operations.js';
import type { OperationContext, Rows } from '../../src/admin/operation.js';
import type { ListedSignal } from '../../src/admin/signal-operations.js';
import { requestIdOfExecution } from '../../src/lib/ids.js';
import type { Store } from '../../src/store/store.js';
import { SimulatedGateway, turns } from '../support/simulated-gateway.js';

/** @returns the requestIds of the list, and how many requests were read for it. */
async function list(store: Store, status?: 'open' | 'unknown' | 'completed') {
  const ids: string[] = [];
  let reads = 0;
  const counted = {
    range: store.range.bind(store),
    keys: store.keys.bind(store),
    get: (collection: 'requests' | 'finalExecutions', key: [string, string]) => {
      if (collection === 'requests') reads++;
      return store.get(collection, key);
    },
  };
  const rows: Rows = {
    send: async (row) => ids.push((row as ListedSignal).requestId) > 0,
    next: async () => 'end',
  };
  const context = { store: counted } as unknown as OperationContext;
  const request = { email: undefined, status, limit: 20 };
  await signalOperations['signal.list'].run(context, request as never, rows);
  return { ids, reads };
}

t.test('few open and unknown signals are found without the completed ones', async (t) => {
  const gateway = new SimulatedGateway();
  await gateway.store.write((batch) =>
    batch.put('users', 'u1', { userId: 'u1', email: 'ann@example.com' } as never),
  );
  const plugin = await gateway.plugin();
  const unknown = [
    ...(await gateway.submit()),
    ...(await gateway.submit({ type: 'account', cmd: 'flatten', payload: '{}' })),
  ];
  await gateway.pass(60_000);
  const cancelling = unknown[0] as string;
  await gateway.cancel(cancelling);
  t.match(gateway.durable(cancelling), { status: 'unknown', cancel: { status: 'dispatched' } });
  for (let seq = 1; seq <= 100; seq++) {
    const [executionId] = await gateway.submit();
    plugin.say({ type: 'report', seq, executionId, status: 'filled' });
  }
  await turns();
  const open = [...(await gateway.submit()), ...(await gateway.submit())];
  const newestFirst = (ids: string[]): string[] => ids.map(requestIdOfExecution).reverse();

  const { store } = gateway;
  t.strictSame(await list(store, 'unknown'), { ids: newestFirst(unknown), reads: 4 });
  t.strictSame(await list(store, 'open'), { ids: newestFirst(open), reads: 3 });
  t.equal((await list(store, 'completed')).ids.length, 20);
  t.strictSame((await list(store)).ids.slice(0, 2), newestFirst(open));
});
