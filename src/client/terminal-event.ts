/** Defines and parses the items of a terminal event stream. Source: section 5 of the contract. */
import { field, text } from './json-fields.js';

export type StreamItem = TerminalEvent | ReplayGap;

export interface TerminalEvent {
  readonly kind: 'event';
  /** The cursor: a later stream with it as `lastEventId` resumes after this event. */
  readonly id: string;
  /** Such as `command_result` or `order_update`; later versions may add names. */
  readonly name: string;
  readonly data: TerminalEventData;
}

/** Events between the cursor and this item were lost: read the status of all open signals. */
export interface ReplayGap {
  readonly kind: 'replay_gap';
  readonly id: string;
  readonly reason: string;
}

export interface TerminalEventData {
  readonly eventId: string;
  /** The event's kind, as in the `name` of its item. */
  readonly event: string;
  /** ISO 8601 UTC, on the terminal's clock. */
  readonly occurredAt: string;
  /** ISO 8601 UTC, on the gateway's clock. */
  readonly receivedAt: string;
  readonly platform: string;
  readonly instanceId: string;
  readonly accountName: string;
  readonly requestId: string | null;
  readonly signalId: string | null;
  readonly executionId: string | null;
  readonly orderRef: string | null;
  /** Up to 8192 characters. */
  readonly rawText: string | null;
  readonly rawTextTruncated: boolean;
  /** The fields of the event's kind. */
  readonly data: Readonly<Record<string, unknown>>;
}

/** @returns undefined for an invalid event, such as one of a proxy. */
export function readItem(id: string, name: string, json: string): StreamItem | undefined {
  let data: unknown;
  try {
    data = JSON.parse(json);
  } catch {
    return undefined;
  }
  if (name === 'replay_gap') {
    return { kind: 'replay_gap', id, reason: text(field(data, 'reason')) ?? '' };
  }
  const read = readEventData(data);
  return read === undefined ? undefined : { kind: 'event', id, name, data: read };
}

/** @returns undefined when it is not the data of an event. */
export function readEventData(data: unknown): TerminalEventData | undefined {
  return text(field(data, 'eventId')) === undefined ? undefined : (data as TerminalEventData);
}
