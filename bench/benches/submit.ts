/**
 * How far POST /signals, durable and with everything on, is from its own parts: a bare uWS handler that makes the
 * same puts in one transaction of lmdb, or writes the same bytes to a log, and answers after the flush.
 */
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type Side, startSide } from '../measure/side.js';
import type { WatchedAcceptance } from '../sides/acceptance-puts.js';
import type { SubmitCeiling } from '../sides/ceiling-submit.js';
import type { Population } from '../sides/population.js';
import type { Bench } from './bench.js';
import { compareSubmit, type Opponent, submitAlone } from './submit-comparison.js';

const program = fileURLToPath(new URL('../sides/ceiling-submit.js', import.meta.url));

export const submit: Bench = {
  name: 'submit',
  summary:
    'POST /signals against a bare uWS handler that makes the same puts and waits for the flush',
  needs: [],
  run: (options) => compareSubmit(options, againstLmdb),
  ours: submitAlone,
};

export const submitLog: Bench = {
  name: 'submit-log',
  summary: 'POST /signals against a bare uWS handler that writes the same bytes to a log',
  needs: [],
  run: (options) => compareSubmit(options, againstLog),
};

const againstLmdb: Opponent = {
  bench: 'submit',
  name: 'uWS + lmdb',
  aim: { throughputAtLeast: 1, p99AtMost: 1.5, aloneP50AtMost: 0.7, mainThreadUsAtMost: 32 },
  start: (...side) => startCeiling('lmdb', ...side),
};

const againstLog: Opponent = {
  bench: 'submit-log',
  name: 'uWS + log',
  aim: { throughputAtLeast: 0.5, p99AtMost: 2 },
  start: (...side) => startCeiling('log', ...side),
};

export function startCeiling(
  disk: SubmitCeiling['disk'],
  dataDir: string,
  { users }: Population,
  watched: WatchedAcceptance,
): Promise<Side> {
  const file = `${dataDir}.json`;
  const order: SubmitCeiling = { disk, dataDir, ...watched, users: users.length };
  writeFileSync(file, JSON.stringify(order));
  return startSide({ name: 'ceiling of submit', program, args: [file] });
}
