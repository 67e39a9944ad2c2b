/** A plugin's evidence in the gateway's terms. Fields beyond the protocol are dropped: bots read it as stored. */
import { toIsoTime } from '../lib/clock.js';
import type { ExecutionReport, Fill, NativeState } from '../model/execution.js';
import type { Evidence } from './protocol.js';

export function toExecutionReport(evidence: Evidence): ExecutionReport {
  const { fill, native, ...rest } = evidence;
  return {
    ...rest,
    ...(fill === undefined ? {} : { fill: toFill(fill) }),
    ...(native === undefined ? {} : { native: toNative(native) }),
  };
}

export function toNative(native: NonNullable<Evidence['native']>): NativeState {
  return {
    orderId: native.orderId ?? null,
    state: native.state ?? null,
    code: native.code ?? null,
    text: native.text ?? null,
  };
}

function toFill({ fillId, price, quantity, filledAt }: NonNullable<Evidence['fill']>): Fill {
  return { fillId, price, quantity, filledAt: toUtc(filledAt) };
}

/** In the gateway's own form, and certainly a date: every month has 28 days. */
const plainUtc =
  /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{3}Z$/;

/** A time with any offset as ISO 8601 UTC. */
export function toUtc(time: string): string {
  return plainUtc.test(time) ? time : toIsoTime(Date.parse(time));
}
