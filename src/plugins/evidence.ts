/** Maps a plugin's report to the model. Drops unknown fields, because bots read the record as it is stored. */
import { toIsoTime } from '../lib/clock.js';
import { cutText } from '../lib/cut-text.js';
import type { ExecutionReport, Fill, NativeState } from '../model/execution.js';
import type { Evidence } from './protocol.js';

/** @param textMax characters of the terminal's text that are kept. */
export function toExecutionReport(evidence: Evidence, textMax: number): ExecutionReport {
  const { fill, native, ...rest } = evidence;
  return {
    ...rest,
    ...(fill === undefined ? {} : { fill: toFill(fill) }),
    ...(native === undefined ? {} : { native: toNative(native, textMax) }),
  };
}

export function toNative(native: NonNullable<Evidence['native']>, textMax: number): NativeState {
  return {
    orderId: native.orderId ?? null,
    state: native.state ?? null,
    code: native.code ?? null,
    text: native.text == null ? null : cutText(native.text, textMax),
  };
}

function toFill({ fillId, price, quantity, filledAt }: NonNullable<Evidence['fill']>): Fill {
  return { fillId, price, quantity, filledAt: toUtc(filledAt) };
}

/** Fast path: already ISO 8601 UTC with milliseconds, on a day that its month has in every year. */
const plainUtc =
  /^\d{4}-(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])|(?:0[13-9]|1[0-2])-(?:29|30)|(?:0[13578]|1[02])-31)T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{3}Z$/;

/** Converts a time with any offset to ISO 8601 UTC. */
export function toUtc(time: string): string {
  return plainUtc.test(time) ? time : toIsoTime(Date.parse(time));
}
