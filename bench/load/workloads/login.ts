/** `login`: POST /login of each caller's user. A server with no time for one more answers 503. */
import { password } from '../../sides/population.js';
import type { Workload } from '../workload.js';
import { RequestBytes } from './request-bytes.js';

export const login: Workload = {
  expected: [200, 503],
  source(callers) {
    const requests = callers.map(({ email }) => {
      if (email === undefined) throw new Error('a caller has no email to log in with');
      const head = ['POST /api/auth/login HTTP/1.1', 'Host: 127.0.0.1'];
      return new RequestBytes(head, JSON.stringify({ email, password })).bytes;
    });
    return { next: (sequence) => requests[sequence % requests.length] as Uint8Array };
  },
};
