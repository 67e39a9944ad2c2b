/**
 * Requests that are refused, each at another depth: a key that nobody has, a key that has used up its
 * minute, and a signal that is none.
 */
import type { Workload } from '../workload.js';
import { statusSource } from './status.js';
import { submitSource } from './submit.js';

/** The bench makes the callers up. */
export const refused401: Workload = { expected: [401], source: statusSource };

/** The keys' minutes are used up in the warm-up, so only the end of it is refused. */
export const refused429: Workload = { expected: [429], source: statusSource };

export const refused422: Workload = {
  expected: [422],
  source: (callers, run) => submitSource(callers, run, 2),
};
