/** Parses frames of the gateway. One without a field that the client reads is invalid. */
import { isObject } from '../lib/is-object.js';
import { scanJson } from '../lib/json-scan.js';
import { limits } from '../limits.js';
import type { GatewayFrame } from '../plugins/protocol.js';

type Check = (value: unknown) => boolean;

const isText: Check = (value) => typeof value === 'string' && value !== '';
const isNumber: Check = (value) => typeof value === 'number' && Number.isFinite(value);
const isPositive: Check = (value) => isNumber(value) && (value as number) >= 1;
const isSeq: Check = (value) => Number.isSafeInteger(value) && (value as number) >= 0;
/** Without a zone, a time would be read in that of this computer. */
const zone = /(?:Z|[+-]\d\d:\d\d)$/;
const isTime: Check = (value) =>
  typeof value === 'string' && zone.test(value) && !Number.isNaN(Date.parse(value));
/** Absent in the welcome of an older gateway. */
const isOptionalQueue: Check = (value) => {
  if (value === undefined) return true;
  const { eventsMax, ageMs }: Record<string, unknown> = isObject(value) ? value : {};
  return isPositive(eventsMax) && isPositive(ageMs);
};
const isOptionalText: Check = (value) => value === undefined || isText(value);

const gatewayFrames: Readonly<Record<GatewayFrame['type'], Readonly<Record<string, Check>>>> = {
  welcome: {
    connectionId: isText,
    heartbeatMs: isPositive,
    serverTime: isTime,
    lastSeq: isSeq,
    outgoingQueue: isOptionalQueue,
  },
  submit: {
    executionId: isText,
    orderRef: isOptionalText,
    signalType: isText,
    cmd: isText,
    payload: isObject,
    expiresAt: isTime,
  },
  cancel: { cancelRequestId: isText, executionId: isText },
  snapshot: { snapshotId: isText },
  ack: { seq: isSeq },
  error: { code: isText },
};

/** @returns undefined when the text is not a valid frame. */
export function decodeGatewayFrame(text: string): GatewayFrame | undefined {
  // JSON nested deeper than any payload can be parsed, but not written to the journal.
  if (scanJson(Buffer.from(text), '').depth > limits.jsonDepthMax.max) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isObject(value)) return undefined;
  const type = String(value['type']);
  if (!Object.hasOwn(gatewayFrames, type)) return undefined;
  const checks = Object.entries(gatewayFrames[type as GatewayFrame['type']]);
  const isValid = checks.every(([field, check]) => check(value[field]));
  return isValid ? (value as unknown as GatewayFrame) : undefined;
}
