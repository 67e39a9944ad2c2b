/** Encodes a terminal event as an SSE frame (section 5 of the contract). */
import type { SourceName } from '../model/source-name.js';
import type { EventName } from './event-names.js';

/** Input of the encoder. Absent fields are null in the frame. */
export interface TerminalEvent {
  readonly name: Exclude<EventName, 'replay_gap'>;
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
}

/** `eventId` is the cursor, `<epoch>-<seq>`; `receivedAt` is ISO 8601 UTC on the gateway's clock. */
export function encodeEvent(
  event: TerminalEvent,
  eventId: string,
  receivedAt: string,
  rawTextLengthMax: number,
): string {
  const rawText = event.rawText ?? null;
  const isTruncated = rawText !== null && rawText.length > rawTextLengthMax;
  const data = JSON.stringify({
    eventId,
    event: event.name,
    occurredAt: event.occurredAt,
    receivedAt,
    platform: event.source.platform,
    instanceId: event.source.instanceId,
    accountName: event.source.accountName,
    requestId: event.requestId ?? null,
    signalId: event.signalId ?? null,
    executionId: event.executionId ?? null,
    orderRef: event.orderRef ?? null,
    rawText: isTruncated ? cut(rawText, rawTextLengthMax) : rawText,
    rawTextTruncated: isTruncated,
    data: event.data,
  });
  return `id: ${eventId}\nevent: ${event.name}\ndata: ${data}\n\n`;
}

/** @returns the JSON text in the `data` line of an encoded event. */
export function eventJson(frame: string): string {
  return frame.slice(frame.indexOf(dataMark) + dataMark.length, -2);
}

const dataMark = '\ndata: ';

/** Cuts at `length` UTF-16 code units, one earlier where that would split a surrogate pair. */
function cut(text: string, length: number): string {
  const last = text.charCodeAt(length - 1);
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? length - 1 : length);
}
