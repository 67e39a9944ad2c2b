/**
 * How far POST /signals, durable and with everything on, is from its own parts: a bare uWS handler
 * that makes the same puts in one transaction and answers after the same flush.
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
  run: (options) => compareSubmit(options, ceiling),
  ours: submitAlone,
};

const ceiling: Opponent = {
  bench: 'submit',
  name: 'uWS + lmdb',
  aim: { throughputAtLeast: 0.75, p99AtMost: 1.5 },
  start: startCeiling,
};

export function startCeiling(
  dataDir: string,
  { users }: Population,
  watched: WatchedAcceptance,
): Promise<Side> {
  const file = `${dataDir}.json`;
  const order: SubmitCeiling = { dataDir, ...watched, users: users.length };
  writeFileSync(file, JSON.stringify(order));
  return startSide({ name: 'ceiling of submit', program, args: [file] });
}
