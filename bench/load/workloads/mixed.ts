/** `mixed`: each caller submits and reads in turn; at any time half of them do the one or the other. */
import type { Workload } from '../workload.js';
import { statusSource } from './status.js';
import { submitSource } from './submit.js';

export const mixed: Workload = {
  expected: [202, 200],
  source(callers, run) {
    const submit = submitSource(callers, run);
    const status = statusSource(callers);
    return {
      next(sequence) {
        const turn = Math.floor(sequence / callers.length) + (sequence % callers.length);
        return (turn % 2 === 0 ? submit : status).next(sequence);
      },
    };
  },
};
