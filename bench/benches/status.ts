/**
 * How far GET /signals/{requestId}, with its key check, its limits and its reads from the store, is
 * from a bare uWS handler that answers the same bytes.
 */
import type { Caller } from '../load/load.js';
import { executeSignals } from '../load/executed-signals.js';
import { removeDirectory } from '../measure/workspace.js';
import { answerTo } from '../sides/bare-handler.js';
import { startGateway } from '../sides/gateway.js';
import { type Population, populate } from '../sides/population.js';
import type { Bench, BenchOptions } from './all.js';
import {
  againstBareHandler,
  callersNeeded,
  type OpenGateway,
  oursAlone,
  type Subject,
} from './bare-comparison.js';

const keysPerUser = 5;

export const status: Bench = {
  name: 'status',
  summary: 'GET /signals/{requestId} against a bare uWS handler that answers the same bytes',
  needs: [],
  run: (options) => againstBareHandler(options, subject),
  ours: (options) => oursAlone(options, subject),
};

const subject: Subject = {
  bench: 'status',
  workload: 'status',
  aim: 0.6,
  open,
};

async function open(options: BenchOptions): Promise<OpenGateway> {
  const users = Math.ceil(callersNeeded(options) / keysPerUser);
  const population = await populate({ product: options.product, users, keysPerUser });
  const side = await startGateway({ product: options.product, population });
  const callers = await executedCallers(side.url, population);
  const { key, requestId = '' } = callers[0] as Caller;
  const answer = await answerTo(side.url, {
    method: 'GET',
    path: `/api/v1/signals/${requestId}`,
    headers: { authorization: `Bearer ${key}` },
  });
  return {
    side,
    callers,
    answer,
    close: async () => {
      await side.stop();
      removeDirectory(population.dataDir);
    },
  };
}

/** Every key with its user's executed signal. */
export async function executedCallers(url: string, population: Population): Promise<Caller[]> {
  const requestIds = await executeSignals(url, population.users);
  return population.users.flatMap(({ keys }, user) =>
    keys.map((key) => ({ key, requestId: requestIds[user] as string })),
  );
}
