/**
 * One accepted and executed signal for each user: what a status request reads in the ordinary course.
 * A terminal plugin connects for the user, gets the signal, reports it filled and leaves again.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Population, PopulationUser } from '../sides/population.js';
import { inSlices } from './in-slices.js';
import { connectPlugin } from './plugin.js';
import { addressOf } from './raw-socket.js';
import { source } from './sample-event.js';
import type { Caller } from './workload.js';

const quantity = 1.5;
const price = 1.08425;
/** Users at a time: a few hundred connections at once would only wait for each other. */
const waveSize = 25;
const settledWithinMs = 10_000;

/** Every key but each user's first, which has sent the signal, with that signal. */
export async function executedCallers(url: string, population: Population): Promise<Caller[]> {
  const requestIds = await inSlices(population.users, (user) => executeSignal(url, user), waveSize);
  return population.users.flatMap(({ keys }, user) =>
    keys.slice(1).map((key) => ({ key, requestId: requestIds[user] as string })),
  );
}

/** @returns the requestId of the user's signal. */
async function executeSignal(url: string, user: PopulationUser): Promise<string> {
  const key = user.keys[0] as string;
  const plugin = await connectPlugin(
    { ...addressOf(url), token: user.sessionToken },
    {
      onSubmit({ executionId }) {
        plugin.send({ type: 'ack', executionId });
        plugin.send({ type: 'report', seq: 1, executionId, ...filled() });
      },
      onClosed: () => undefined,
    },
  );
  const requestId = await submit(url, key, user.userId);
  await settled(url, key, requestId);
  plugin.close();
  return requestId;
}

function filled(): object {
  const filledAt = new Date().toISOString();
  return {
    status: 'filled',
    filledQuantity: quantity,
    remainingQuantity: 0,
    averageFillPrice: price,
    fill: { fillId: 'fill-1', price, quantity, filledAt },
    native: { orderId: '84311207', state: 'Filled' },
    occurredAt: filledAt,
  };
}

async function submit(url: string, key: string, userId: string): Promise<string> {
  const answer = await fetch(`${url}/api/v1/signals`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      'idempotency-key': `executed-${userId}`,
    },
    body: JSON.stringify({
      v: 1,
      signalId: `executed-${userId}`,
      ts: Date.now(),
      ttlMs: 60_000,
      platform: source.platform,
      type: 'order',
      cmd: 'submit',
      payload: { instrument: 'EURUSD', side: 'buy', executionType: 'market', quantity },
    }),
  });
  const { requestId } = (await answer.json()) as { requestId?: string };
  if (answer.status !== 202 || requestId === undefined) {
    throw new Error(`a signal was not accepted but answered with ${answer.status}`);
  }
  return requestId;
}

async function settled(url: string, key: string, requestId: string): Promise<void> {
  const deadline = performance.now() + settledWithinMs;
  for (;;) {
    const answer = await fetch(`${url}/api/v1/signals/${requestId}`, {
      headers: { authorization: `Bearer ${key}` },
    });
    const { status } = (await answer.json()) as { status?: string };
    if (status === 'completed') return;
    if (performance.now() > deadline) throw new Error(`a signal was not executed: ${status ?? ''}`);
    await delay(2);
  }
}
