/**
 * The id under which a request can be found in the log. A valid W3C `traceparent` header's trace id
 * is taken over; any other request gets one of its own: 64 random bits of this process and a counter,
 * so that the hot path asks the CSPRNG for nothing. Not a secret, and need not be one.
 */
import { randomHex } from '../lib/ids.js';

/** Version 00; neither trace id nor parent id may be all zeros. */
const traceparentPattern = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;

/** From here on a count has 13 hex digits, for longer than any process lives: no padding needed. */
const firstCount = 2 ** 48;

export interface TraceIds {
  /**
   * @param traceparent the request's header; '' when it has none.
   * @returns 32 lower-case hex digits.
   */
  next(traceparent: string): string;
}

export function createTraceIds(): TraceIds {
  const prefix = `${randomHex(8)}000`;
  let count = firstCount;
  return {
    next: (traceparent) =>
      traceparent !== '' && traceparentPattern.test(traceparent)
        ? traceparent.slice(3, 35)
        : prefix + (count++).toString(16),
  };
}
