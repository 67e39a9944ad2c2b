/**
 * POST /signals against what one would build for the same contract without this product: Fastify and
 * better-sqlite3, durable too, one transaction a request.
 */
import { startFastifyPeer } from '../sides/fastify-peer.js';
import type { Bench } from './bench.js';
import { compareSubmit, type Opponent } from './submit-comparison.js';

export const submitPeer: Bench = {
  name: 'submit-peer',
  summary: 'POST /signals against Fastify + better-sqlite3 under the same contract',
  needs: ['peers'],
  run: (options) => compareSubmit(options, peer),
};

const peer: Opponent = {
  bench: 'submit-peer',
  name: 'Fastify + SQLite',
  aim: { throughputAtLeast: 8, p99AtMost: 0.25 },
  start: startFastifyPeer,
};
