/** Encodes a terminal event as an SSE frame (section 5 of the contract). */
import { cutText } from '../lib/cut-text.js';
import { constantBytes, TextBytes } from '../lib/text-bytes.js';
import type { Execution } from '../model/execution.js';
import type { SourceName } from '../model/source-name.js';
import type { PluginEventName } from './event-names.js';

export interface TerminalEvent {
  readonly name: PluginEventName;
  readonly source: SourceName;
  /** Key of `source`. */
  readonly sourceKey: string;
  /** ISO 8601 UTC, on the terminal's clock. */
  readonly occurredAt: string;
  /** Which the event is about. */
  readonly execution?:
    | Pick<Execution, 'requestId' | 'signalId' | 'executionId' | 'orderRef'>
    | undefined;
  readonly rawText?: string | undefined;
  readonly data: object;
  /** The JSON of `data` in one line, as sent: its numbers may have more digits than JavaScript keeps. */
  readonly dataJson?: Uint8Array | undefined;
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
  const { source, execution, rawText } = event;
  const isTruncated = rawText !== undefined && rawText.length > rawTextLengthMax;
  bytes.begin().raw(parts.id).text(eventId).raw(parts.event).text(event.name);
  bytes.raw(parts.data).text(eventId).raw(parts.name).text(event.name);
  bytes.raw(parts.occurredAt).json(event.occurredAt);
  bytes.raw(parts.receivedAt).json(receivedAt);
  bytes.raw(parts.platform).json(source.platform);
  bytes.raw(parts.instanceId).json(source.instanceId);
  bytes.raw(parts.accountName).json(source.accountName);
  if (execution === undefined) {
    bytes.raw(parts.noExecution);
  } else {
    bytes.raw(parts.requestId).json(execution.requestId);
    bytes.raw(parts.signalId).json(execution.signalId);
    bytes.raw(parts.executionId).json(execution.executionId);
    bytes.raw(parts.orderRef).value(execution.orderRef);
  }
  bytes.raw(parts.rawText).value(isTruncated ? cutText(rawText, rawTextLengthMax) : rawText);
  bytes.raw(isTruncated ? parts.truncated : parts.whole);
  if (event.dataJson === undefined) bytes.value(event.data);
  else bytes.raw(event.dataJson);
  return bytes.raw(parts.end).take();
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
  noExecution: constantBytes(
    ',"requestId":null,"signalId":null,"executionId":null,"orderRef":null',
  ),
  requestId: constantBytes(',"requestId":'),
  signalId: constantBytes(',"signalId":'),
  executionId: constantBytes(',"executionId":'),
  orderRef: constantBytes(',"orderRef":'),
  rawText: constantBytes(',"rawText":'),
  whole: constantBytes(',"rawTextTruncated":false,"data":'),
  truncated: constantBytes(',"rawTextTruncated":true,"data":'),
  end: constantBytes('}\n\n'),
};
