/**
 * Judges a numbered frame as the gateway will, before it is stored. A stored frame that the gateway refuses would
 * be sent again at each reconnect, and the third bad frame ends the plugin for good.
 */
import { faultyDataField } from '../events/event-data.js';
import { faultyField } from '../lib/schema.js';
import { decodeFrame } from '../plugins/decode-frame.js';
import { frameErrors, pluginFrames, type FrameErrorCode } from '../plugins/protocol.js';
import type { NumberedFrame } from './outgoing.js';

type Draft = {
  [T in NumberedFrame['type']]: Omit<Extract<NumberedFrame, { type: T }>, 'seq'>;
}[NumberedFrame['type']];

/** The longest possible `seq`. */
const seq = Number.MAX_SAFE_INTEGER;

export interface Fault {
  readonly code: FrameErrorCode;
  /** Names the faulty field, if it is one. */
  readonly message: string;
}

/** @returns why the gateway would refuse it; undefined when it takes it. */
export function faultIn(frame: Draft): Fault | undefined {
  const text = JSON.stringify({ ...frame, seq });
  const { error } = decodeFrame(Buffer.from(text));
  if (error === undefined) return undefined;
  const field = faultyFieldOf(JSON.parse(text) as NumberedFrame);
  const why =
    field === undefined ? frameErrors[error].message : `its ${field} is missing or not valid.`;
  return { code: error, message: `The gateway would refuse this ${frame.type}: ${why}` };
}

/** @throws TypeError when the gateway would refuse it. */
export function assertTaken(frame: Draft): void {
  const fault = faultIn(frame);
  if (fault !== undefined) throw new TypeError(fault.message);
}

function faultyFieldOf(frame: NumberedFrame): string | undefined {
  const field = faultyField(pluginFrames[frame.type], frame);
  if (field !== undefined || frame.type !== 'event') return field;
  const inData = faultyDataField(frame.event, frame.data ?? {});
  return inData === undefined ? undefined : `data.${inData}`;
}
