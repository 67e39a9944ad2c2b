/**
 * How far GET /signals/{requestId}, with its key check, its limits and its reads from the store, is
 * from a bare uWS handler that answers the same bytes.
 */
import { executedCallers } from '../load/executed-signals.js';
import { closeGateway, startGateway } from '../sides/gateway.js';
import { populate } from '../sides/population.js';
import type { Bench, BenchOptions } from './bench.js';
import {
  againstBareHandler,
  callersNeeded,
  type OpenGateway,
  oursAlone,
  type Subject,
} from './bare-comparison.js';

/** One of a user's five serves to execute the signal that the others read. */
const keysPerUser = 4;

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
  hasLatency: true,
  open,
};

async function open(options: BenchOptions): Promise<OpenGateway> {
  const users = Math.ceil(callersNeeded(options) / keysPerUser);
  const population = await populate({
    product: options.product,
    users,
    keysPerUser: keysPerUser + 1,
  });
  const side = await startGateway({ product: options.product, population });
  const callers = await executedCallers(side.url, population);
  return { side, callers, close: () => closeGateway(side, population) };
}
