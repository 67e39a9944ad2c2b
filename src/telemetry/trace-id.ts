/**
 * Assigns trace ids, which identify requests in the log: the trace id of a valid W3C `traceparent` header,
 * otherwise a new one of 64 random bits per process and a counter, so that the hot path does not need the
 * CSPRNG. Trace ids are not secret.
 */
import { randomHex } from '../lib/ids.js';

/**
 * Neither trace id nor parent id may be all zeros. Version 00 ends with the flags; a later one may have more fields,
 * each behind a hyphen. There is no version ff.
 */
const traceparentPattern =
  /^(?:00(?=.{53}$)|(?!00|ff)[0-9a-f]{2})-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:$|-)/;

/** Hexadecimal digits of 12 bits each: formatting a number costs ten times as much as joining two of them. */
const digits = Array.from({ length: 4_096 }, (_, bits) => bits.toString(16).padStart(3, '0'));
const lowCounts = 4_096 * 4_096;

/**
 * @param traceparent the request's header; '' when it has none.
 * @returns 32 lower-case hex digits.
 */
type NextTraceId = (traceparent: string) => string;

export function createTraceIds(): NextTraceId {
  const processId = randomHex(8);
  let high = 0;
  let low = 0;
  let prefix = prefixOf(high);

  function prefixOf(high: number): string {
    return `${processId}${(high + 1).toString(16).padStart(10, '0')}`;
  }

  return (traceparent) => {
    if (traceparent !== '' && traceparentPattern.test(traceparent)) return traceparent.slice(3, 35);
    if (low === lowCounts) {
      low = 0;
      prefix = prefixOf(++high);
    }
    const count = low++;
    return `${prefix}${digits[count >> 12] as string}${digits[count & 4_095] as string}`;
  };
}
