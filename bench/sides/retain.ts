/**
 * Program: writes what a store retains, by the store code of the tree named as its argument. Each
 * user's signals of the last 29 days, with their signalIds and filled orders, those of the last day
 * with their idempotency records; or signals of the day before the last 31, with all of their records, as if no
 * sweep had been. The mark of the sweep is where it would be, or where it would be behind. User by user, since in
 * the order of acceptance every commit would rewrite pages of all users, many times over.
 */
import { systemClock, toIsoTime } from '../../src/lib/clock.js';
import { dayMs } from '../../src/lib/durations.js';
import type * as ids from '../../src/lib/ids.js';
import type { Execution } from '../../src/model/execution.js';
import type { SignalRequest } from '../../src/model/records.js';
import type * as lmdbStore from '../../src/store/lmdb-store.js';
import type { Writer } from '../../src/store/store.js';
import { answerOnce } from '../load/commands.js';
import { sampleOrder } from '../load/workloads/submit.js';
import { loadModule } from '../measure/product.js';

interface Order {
  readonly dataDir: string;
  readonly userIds: readonly string[];
  readonly requests: number;
  readonly isDue: boolean;
  readonly isBehind: boolean;
}

const retainedMs = 29 * dayMs;
const dueMs = 31 * dayMs;
/** The newest is older than the window of every limit per minute. */
const quietMs = 120_000;
const signalsPerWrite = 4_000;

const root = process.argv[2] as string;
await answerOnce(async (order: Order) => ({ requestIds: await write(order) }));

async function write({ dataDir, userIds, requests, isDue, isBehind }: Order): Promise<string[]> {
  const { createIdSource, requestIdOf, executionIdOf, orderRefOf } = await loadModule<typeof ids>(
    root,
    'lib/ids.js',
  );
  const { openStore } = await loadModule<typeof lmdbStore>(root, 'store/lmdb-store.js');
  const now = systemClock.now();
  const firstAt = now - (isDue ? dueMs + dayMs : retainedMs);
  /** Where the idempotency records are swept up to. */
  const sweptTo = isDue ? (isBehind ? firstAt : now) : now - dayMs - quietMs;
  const intervalMs = (isDue ? dayMs : retainedMs - quietMs) / requests;

  const newest = userIds.map(() => '');

  /** User by user, each one's in their order. */
  function* signals(): Generator<(batch: Writer) => void> {
    for (const [user, userId] of userIds.entries()) {
      let at = now;
      let signalsToday = 0;
      const idSource = createIdSource({ ...systemClock, now: () => at });
      for (let index = user; index < requests; index += userIds.length) {
        const before = at;
        at = Math.floor(firstAt + index * intervalMs);
        const isSameDay = Math.floor(at / dayMs) === Math.floor(before / dayMs);
        signalsToday = isSameDay ? signalsToday + 1 : 1;
        const requestId = requestIdOf(idSource.ulid());
        newest[user] = requestId;
        yield (batch) => put(batch, userId, signalRequest(requestId, index, at, signalsToday));
      }
    }
  }

  /** One signal and all that is left of it. */
  function put(batch: Writer, userId: string, request: SignalRequest): void {
    const { requestId, acceptedAt: at } = request;
    const { signalId, idempotencyKey } = request;
    const executionId = executionIdOf(requestId, 0);
    batch.put('requests', [userId, requestId], request);
    batch.put('signalIds', [userId, signalId], requestId);
    batch.put(
      'finalExecutions',
      [userId, executionId],
      filledOrder(request, executionId, orderRefOf(executionId)),
    );
    if (at + dayMs <= now && !isDue) return;
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
    batch.put('meta', 'sweep:idempotency', sweptTo);
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
  const rest = signals();
  let step = rest.next();
  while (step.done !== true) {
    await store.write((batch) => {
      for (let i = 0; i < signalsPerWrite && step.done !== true; i++) {
        step.value(batch);
        step = rest.next();
      }
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
    payload: JSON.stringify(sampleOrder),
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
