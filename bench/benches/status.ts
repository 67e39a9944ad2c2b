/**
 * How far GET /signals/{requestId}, with its key check, its limits and its reads from the store, is
 * from a bare uWS handler that answers the same bytes.
 */
import type { Bench } from './bench.js';
import { againstBareHandler, callersNeeded, oursAlone, type Subject } from './bare-comparison.js';
import { openExecutedGateway } from './executed-gateway.js';

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
  open: (options) => openExecutedGateway(options.product, callersNeeded(options)),
};
