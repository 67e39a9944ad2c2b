/** Parses and validates a frame of a plugin: the frame, or the code of the error that answers it. */
import { eventDataFields, faultyDataField, isEventData } from '../events/event-data.js';
import { isObject } from '../lib/is-object.js';
import { Outline } from '../lib/json-outline.js';
import { scanJson } from '../lib/json-scan.js';
import { compileSchemas, faultyField } from '../lib/schema.js';
import { frameBytesMax, pluginFrames, type FrameErrorCode, type PluginFrame } from './protocol.js';

/** Deepest nesting of a frame: bounds the recursion of JSON.parse and of every reader of `data`. */
const frameDepthMax = 64;

const lineFeed = 0x0a;
const carriageReturn = 0x0d;
const space = 0x20;

const isValid = compileSchemas(pluginFrames);

/** What the schemas look at. The deepest is the fill of an execution in the list of a hello. */
const outline = new Outline(
  new Set([...Object.values(pluginFrames), ...Object.values(eventDataFields)].flatMap(namesIn)),
  4,
);

/** @returns the names of all fields that are somewhere in the schema, or in a record of schemas. */
function namesIn(schema: object): string[] {
  return Object.entries(schema).flatMap(([name, within]: [string, unknown]) =>
    isObject(within) ? [name, ...namesIn(within)] : [],
  );
}

/** A frame as it came, valid only during the call that passes it. */
export interface FrameBytes {
  readonly whole: Uint8Array;
  /** The JSON of an event's `data`, in one line; absent where it has none. */
  readonly data?: Uint8Array | undefined;
}

export type DecodedFrame =
  | {
      /** The data of an event in a long frame has only what the schemas look at. */
      readonly frame: PluginFrame;
      readonly bytes: FrameBytes;
      readonly error?: undefined;
    }
  | {
      readonly frame?: undefined;
      readonly error: FrameErrorCode;
      /** Path of the field that makes the frame invalid, such as `fill.price`, if it is one. */
      readonly field?: string | undefined;
    };

/** Parses and validates one text frame. */
export function decodeFrame(bytes: Uint8Array): DecodedFrame {
  if (bytes.length > frameBytesMax) return { error: 'frame_too_large' };
  const { depth, start, end } = scanJson(bytes, 'data');
  if (depth > frameDepthMax) return { error: 'invalid_frame' };
  let value: unknown;
  try {
    value = outline.parse(bytes, utf8.decode(bytes), utf8);
  } catch {
    return { error: 'not_json' };
  }
  if (!isObject(value)) return { error: 'not_json' };
  const { type = '' } = value;
  if (typeof type !== 'string') return { error: 'invalid_frame', field: 'type' };
  const isFrame = isValid(type, value);
  if (isFrame === undefined) return { error: 'unknown_type' };
  const frame = value as unknown as PluginFrame;
  if (!isFrame || !isWhole(frame)) return { error: 'invalid_frame', field: faultyFieldOf(frame) };
  if (frame.type !== 'event' || start < 0) return { frame, bytes: { whole: bytes } };
  return { frame, bytes: { whole: bytes, data: inOneLine(bytes.subarray(start, end)) } };
}

/** Line breaks in valid JSON are only between its tokens: within a text they are escaped. */
function inOneLine(value: Uint8Array): Uint8Array {
  let start = 0;
  let end = value.length;
  while ((value[start] as number) <= space) start++;
  while ((value[end - 1] as number) <= space) end--;
  const json = value.subarray(start, end);
  if (!json.includes(lineFeed) && !json.includes(carriageReturn)) return json;
  return json.map((byte) => (byte === lineFeed || byte === carriageReturn ? space : byte));
}

/** Checks what the schemas do not: an event has the data of its kind, and an ack names what it acknowledges. */
function isWhole(frame: PluginFrame): boolean {
  if (frame.type === 'event') return isEventData(frame.event, frame.data ?? {});
  if (frame.type !== 'ack') return true;
  return frame.executionId !== undefined || frame.cancelRequestId !== undefined;
}

function faultyFieldOf(frame: PluginFrame): string | undefined {
  const field = faultyField(pluginFrames[frame.type], frame);
  if (field !== undefined || frame.type !== 'event') return field;
  const inData = faultyDataField(frame.event, frame.data ?? {});
  return inData === undefined ? undefined : `data.${inData}`;
}

const utf8 = new TextDecoder('utf-8', { fatal: true });
