/**
 * Judges a numbered frame as the gateway will, before it is stored. A stored frame that the gateway refuses would
 * be sent again at each reconnect, and the third bad frame ends the plugin for good.
 */
import { decodeFrame } from '../plugins/decode-frame.js';
import { frameErrors, type FrameErrorCode, type NumberedFrame } from '../plugins/protocol.js';

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
  const decoded = decodeFrame(Buffer.from(JSON.stringify({ ...frame, seq })));
  if (decoded.error === undefined) return undefined;
  const { error, field } = decoded;
  const why =
    field === undefined ? frameErrors[error].message : `its ${field} is missing or not valid.`;
  return { code: error, message: `The gateway would refuse this ${frame.type}: ${why}` };
}

/** @throws TypeError when the gateway would refuse it. */
export function assertTaken(frame: Draft): void {
  const fault = faultIn(frame);
  if (fault !== undefined) throw new TypeError(fault.message);
}
