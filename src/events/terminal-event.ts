/** Encodes a terminal event as an SSE frame (section 5 of the contract). */
import { cutText } from '../lib/cut-text.js';
import { constantBytes, TextBytes } from '../lib/text-bytes.js';
import type { SourceName } from '../model/source-name.js';
import type { PluginEventName } from './event-names.js';

/** Input of the encoder. Absent fields are null in the frame. */
export interface TerminalEvent {
  readonly name: PluginEventName;
  readonly source: SourceName;
  /** Key of `source`. */
  readonly sourceKey: string;
  /** ISO 8601 UTC, on the terminal's clock. */
  readonly occurredAt: string;
  readonly requestId?: string | null;
  readonly signalId?: string | null;
  readonly executionId?: string | null;
  readonly orderRef?: string | null;
  readonly rawText?: string | null;
  readonly data: object;
  /** The JSON of `data` in one line, as sent: its numbers may have more digits than JavaScript keeps. */
  readonly dataText?: string | undefined;
}

/**
 * `eventId` is the cursor, `<epoch>-<seq>`; `receivedAt` is ISO 8601 UTC on the gateway's clock.
 * @returns the frame, valid until the next call.
 */
export function encodeEvent(
  event: TerminalEvent,
  eventId: string,
  receivedAt: string,
  rawTextLengthMax: number,
): Uint8Array {
  const { source } = event;
  const rawText = event.rawText ?? null;
  const isTruncated = rawText !== null && rawText.length > rawTextLengthMax;
  bytes.begin().constant(parts.id).text(eventId).constant(parts.event).text(event.name);
  bytes.constant(parts.data).text(eventId).constant(parts.name).text(event.name);
  bytes.constant(parts.occurredAt).json(event.occurredAt);
  bytes.constant(parts.receivedAt).json(receivedAt);
  bytes.constant(parts.platform).json(source.platform);
  bytes.constant(parts.instanceId).json(source.instanceId);
  bytes.constant(parts.accountName).json(source.accountName);
  bytes.constant(parts.requestId).value(event.requestId);
  bytes.constant(parts.signalId).value(event.signalId);
  bytes.constant(parts.executionId).value(event.executionId);
  bytes.constant(parts.orderRef).value(event.orderRef);
  bytes.constant(parts.rawText).value(isTruncated ? cutText(rawText, rawTextLengthMax) : rawText);
  bytes.constant(isTruncated ? parts.truncated : parts.whole);
  if (event.dataText === undefined) bytes.value(event.data);
  else bytes.text(event.dataText);
  return bytes.constant(parts.end).take();
}

/** @returns the JSON text in the `data` line of an encoded event. */
export function eventJson(frame: Uint8Array): string {
  const { buffer, byteOffset, length } = frame;
  const text = Buffer.from(buffer, byteOffset, length).toString();
  return text.slice(text.indexOf(dataMark) + dataMark.length, -2);
}

const bytes = new TextBytes();
const dataMark = '\ndata: ';

/** What stands before each value of a frame, in their order, and after the last one. */
const parts = {
  id: constantBytes('id: '),
  event: constantBytes('\nevent: '),
  data: constantBytes(`${dataMark}{"eventId":"`),
  name: constantBytes('","event":"'),
  occurredAt: constantBytes('","occurredAt":'),
  receivedAt: constantBytes(',"receivedAt":'),
  platform: constantBytes(',"platform":'),
  instanceId: constantBytes(',"instanceId":'),
  accountName: constantBytes(',"accountName":'),
  requestId: constantBytes(',"requestId":'),
  signalId: constantBytes(',"signalId":'),
  executionId: constantBytes(',"executionId":'),
  orderRef: constantBytes(',"orderRef":'),
  rawText: constantBytes(',"rawText":'),
  whole: constantBytes(',"rawTextTruncated":false,"data":'),
  truncated: constantBytes(',"rawTextTruncated":true,"data":'),
  end: constantBytes('}\n\n'),
};
