/**
 * Program: writes what a store retains, by the store code of the tree named as its argument. Signals
 * in the order of their acceptance over the last 29 days, each with its signalId and a filled order,
 * those of the last day with their idempotency record, and the mark of the sweep where it would be.
 */
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import { systemClock, toIsoTime } from '../../src/lib/clock.js';
import type * as ids from '../../src/lib/ids.js';
import type { Execution, SignalRequest } from '../../src/store/records.js';
import type * as lmdbStore from '../../src/store/lmdb-store.js';
import type { Writer } from '../../src/store/store.js';
import { productModule } from '../measure/product.js';

interface Order {
  readonly dataDir: string;
  readonly userIds: readonly string[];
  readonly requests: number;
}

const dayMs = 86_400_000;
const retainedMs = 29 * dayMs;
/** The newest is older than the window of every limit per minute. */
const quietMs = 120_000;
const requestsPerWrite = 2_000;

const root = process.argv[2] as string;
const lines = createInterface({ input: process.stdin });
const asked = once(lines, 'line') as Promise<[string]>;
console.log('{}');
const order = JSON.parse((await asked)[0]) as Order;
console.log(JSON.stringify({ requestIds: await write(order) }));

async function load<T>(path: string): Promise<T> {
  const file = productModule({ root, label: '' }, path);
  const module: unknown = await import(pathToFileURL(file).href);
  return module as T;
}

async function write({ dataDir, userIds, requests }: Order): Promise<string[]> {
  const { createIdSource, requestIdOf, executionIdOf, orderRefOf } =
    await load<typeof ids>('lib/ids.js');
  const { openStore } = await load<typeof lmdbStore>('store/lmdb-store.js');
  const now = systemClock.now();
  let acceptedAt = now;
  const idSource = createIdSource({ ...systemClock, now: () => acceptedAt });
  const newest = userIds.map(() => '');
  const countOfDay = new Map<string, number>();

  /** One signal and all that is left of it. */
  function put(batch: Writer, index: number): void {
    const at = now - retainedMs + Math.floor((index * (retainedMs - quietMs)) / requests);
    acceptedAt = at;
    const user = index % userIds.length;
    const userId = userIds[user] as string;
    const requestId = requestIdOf(idSource.ulid());
    newest[user] = requestId;
    const day = `${user} ${Math.floor(at / dayMs)}`;
    const signalsToday = (countOfDay.get(day) ?? 0) + 1;
    countOfDay.set(day, signalsToday);
    const request = signalRequest(requestId, index, at, signalsToday);
    const { signalId, idempotencyKey } = request;
    const executionId = executionIdOf(requestId, 0);
    batch.put('requests', [userId, requestId], request);
    batch.put('signalIds', [userId, signalId], requestId);
    batch.put(
      'finalExecutions',
      [userId, executionId],
      filledOrder(request, executionId, orderRefOf(executionId)),
    );
    if (at + dayMs <= now) return;
    batch.put('idempotency', [userId, idempotencyKey], {
      fingerprint: `signal ${'f'.repeat(43)}`,
      requestId,
      answer: JSON.stringify({
        requestId,
        signalId,
        status: 'accepted',
        acceptedAt: toIsoTime(at),
      }),
      expiresAt: at + dayMs,
    });
  }

  const store = openStore(dataDir);
  await store.write((batch) => {
    batch.put('meta', 'sweep:idempotency', now - dayMs - quietMs);
    userIds.forEach((userId, user) => {
      const name = { platform: 'terminal_a', instanceId: 'desk-1', accountName: `account-${user}` };
      batch.put('sources', [userId, name.platform, name.instanceId, name.accountName], {
        ...name,
        capabilities: ['submit', 'cancel', 'snapshot'],
        software: { name: 'bench', version: '1' },
        lastSeq: 0,
        lastSeenAt: now,
      });
    });
  });
  for (let first = 0; first < requests; first += requestsPerWrite) {
    await store.write((batch) => {
      const end = Math.min(requests, first + requestsPerWrite);
      for (let index = first; index < end; index++) put(batch, index);
    });
  }
  await store.close();
  return newest;
}

function signalRequest(
  requestId: string,
  index: number,
  acceptedAt: number,
  signalsToday: number,
): SignalRequest {
  const number = String(index).padStart(10, '0');
  return {
    requestId,
    signalId: `breakout-eurusd-retained-${number}`,
    acceptedAt,
    ts: acceptedAt - 5,
    expiresAt: acceptedAt + 299_995,
    platform: 'terminal_a',
    type: 'order',
    cmd: 'submit',
    instanceId: null,
    payload: JSON.stringify({
      instrument: 'EURUSD',
      side: 'buy',
      executionType: 'limit',
      quantity: 1.5,
      limitPrice: 1.08425,
      timeInForce: 'day',
      stopLoss: 1.0785,
      takeProfit: 1.0962,
      strategy: 'breakout-m15',
      comment: 'range of the Asian session left upwards',
    }),
    idempotencyKey: `retained-${number}`,
    executionCount: 1,
    signalsToday,
  };
}

function filledOrder(request: SignalRequest, executionId: string, orderRef: string): Execution {
  const { requestId, signalId, acceptedAt, expiresAt } = request;
  const filledAt = acceptedAt + 40;
  return {
    executionId,
    requestId,
    signalId,
    platform: 'terminal_a',
    instanceId: 'desk-1',
    accountName: 'account-of-the-desk',
    status: 'filled',
    reasonCode: null,
    delivery: 'confirmed',
    orderRef,
    side: 'buy',
    executionType: 'limit',
    instrument: 'EURUSD',
    quantity: 1.5,
    limitPrice: 1.08425,
    filledQuantity: 1.5,
    remainingQuantity: 0,
    averageFillPrice: 1.08421,
    fills: [{ fillId: 'fill-1', price: 1.08421, quantity: 1.5, filledAt: toIsoTime(filledAt) }],
    native: { orderId: '4711-0815', state: 'FILLED', code: 0, text: null },
    createdAt: acceptedAt,
    dispatchedAt: acceptedAt + 1,
    confirmedAt: acceptedAt + 12,
    updatedAt: filledAt,
    cancel: null,
    cancelKeys: [],
    expiresAt,
    maySend: true,
  };
}
