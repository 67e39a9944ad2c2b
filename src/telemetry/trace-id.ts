/**
 * Assigns trace ids, which identify requests in the log: the trace id of a valid W3C `traceparent` header,
 * otherwise a new one of 64 random bits per process and a counter, so that the hot path does not need the
 * CSPRNG. Trace ids are not secret.
 */
import { randomHex } from '../lib/ids.js';

/** Version 00; neither trace id nor parent id may be all zeros. */
const traceparentPattern = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;

/** From here the count always has 13 hex digits, so it needs no padding. */
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
