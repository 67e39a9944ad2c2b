/** UTCTimestamp of FIX: `20260131-12:00:00.000`, with seconds, milliseconds, microseconds or nanoseconds. */
import { toIsoTime } from '../lib/clock.js';

const form = /^(\d{4})(\d\d)(\d\d)-(\d\d):(\d\d):(\d\d)(?:\.(\d{1,12}))?$/;

export function toFixTime(unixMs: number): string {
  const iso = toIsoTime(unixMs);
  return `${iso.slice(0, 4)}${iso.slice(5, 7)}${iso.slice(8, 10)}-${iso.slice(11, 23)}`;
}

/** @returns Unix milliseconds, undefined when the text is no time. A leap second counts as the one before. */
export function fromFixTime(text: string): number | undefined {
  const match = form.exec(text);
  if (match === null) return undefined;
  const [, year, month, day, hour, minute, second, fraction = ''] = match;
  const seconds = second === '60' ? '59' : second;
  const ms = fraction.padEnd(3, '0').slice(0, 3);
  const unixMs = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${seconds}.${ms}Z`);
  return Number.isNaN(unixMs) ? undefined : unixMs;
}
