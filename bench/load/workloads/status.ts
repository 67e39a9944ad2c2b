/** `status`: GET /signals/{requestId} of each caller's own request. */
import type { Caller } from '../workload.js';
import type { RequestSource, Workload } from '../workload.js';
import { keyMark, RequestBytes, requestIdMark } from './request-bytes.js';

export const status: Workload = { expected: [200], source: statusSource };

export function statusSource(callers: readonly Caller[]): RequestSource {
  const request = new RequestBytes([
    `GET /api/v1/signals/${requestIdMark} HTTP/1.1`,
    'Host: 127.0.0.1',
    `Authorization: Bearer ${keyMark}`,
  ]);
  const requestIdAt = request.place(requestIdMark);
  const keyAt = request.place(keyMark);
  const texts = callers.map(({ key, requestId }) => {
    if (requestId === undefined) throw new Error('a caller has no request to read');
    return { key: Buffer.from(key, 'latin1'), requestId: Buffer.from(requestId, 'latin1') };
  });
  return {
    next(sequence) {
      const caller = texts[sequence % texts.length] as (typeof texts)[number];
      request.text(keyAt, caller.key);
      request.text(requestIdAt, caller.requestId);
      return request.bytes;
    },
  };
}
