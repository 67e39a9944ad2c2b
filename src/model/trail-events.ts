/**
 * The lines of the log that lead from a trace id, a key, a user or an address to what happened: their events
 * and fields, and the port through which all modules note them. No field holds a secret or a payload. A field
 * that is not known is `undefined`, and missing from the line. `telemetry/trail` writes the lines.
 */
import type { SourceName } from './source-name.js';

/** The type of each field, the same in every event. */
interface FieldTypes {
  readonly cancelAllId: string;
  /** Full address, also of IPv6; behind a trusted proxy the client's. */
  readonly clientAddress: string;
  readonly code: string;
  readonly connectionId: string;
  readonly keyId: number;
  readonly matched: number;
  readonly operation: string;
  /** `done`, `failed`, or the code of the refusal. */
  readonly outcome: string;
  readonly by: 'operator' | 'user';
  /** Fields of the operator's request that may be shown. */
  readonly request: object;
  readonly reason: string;
  /** Method and path of the route table, or `none`; never a path as the client sent it. */
  readonly route: string;
  readonly source: SourceName;
  readonly status: number;
  readonly traceId: string;
  readonly userId: string;
}

interface TrailLine {
  readonly meaning: string;
  readonly fields: readonly (keyof FieldTypes)[];
}

// oxfmt-ignore
export const trailEvents = {
  refused: { meaning: 'A request was refused.', fields: ['traceId', 'route', 'status', 'code', 'clientAddress', 'userId', 'keyId'] },
  login: { meaning: 'A user logged in.', fields: ['traceId', 'clientAddress', 'userId'] },
  key_made: { meaning: 'An API key was made.', fields: ['traceId', 'clientAddress', 'userId', 'keyId', 'by'] },
  key_revoked: { meaning: 'An API key was revoked.', fields: ['traceId', 'clientAddress', 'userId', 'keyId', 'by'] },
  session_revoked: { meaning: 'All sessions of a user were revoked.', fields: ['userId', 'by'] },
  plugin_connected: { meaning: 'A plugin connected and said which account it serves.', fields: ['traceId', 'clientAddress', 'connectionId', 'userId', 'source'] },
  plugin_closed: { meaning: 'The connection of a plugin ended.', fields: ['traceId', 'clientAddress', 'connectionId', 'userId', 'source', 'reason'] },
  command: { meaning: 'The operator gave a command.', fields: ['operation', 'request', 'outcome'] },
  halted: { meaning: 'Trading was halted.', fields: ['reason'] },
  resumed: { meaning: 'Trading was resumed.', fields: [] },
  cancel_all: { meaning: 'All matching open orders of a user were cancelled.', fields: ['traceId', 'clientAddress', 'cancelAllId', 'userId', 'keyId', 'matched', 'by'] },
  cancel_after_fired: { meaning: 'The switch of a key fired and cancelled its open orders.', fields: ['userId', 'keyId', 'matched'] },
} as const satisfies Record<string, TrailLine>;

export type TrailEvent = keyof typeof trailEvents;

/** The fields of a line of the event; `undefined` if not known. */
export type TrailFields<E extends TrailEvent> = {
  readonly [F in (typeof trailEvents)[E]['fields'][number]]: FieldTypes[F] | undefined;
};

export interface TrailLog {
  /** @param fields the fields, or a function that makes them and is called only if the line is written. */
  note<E extends TrailEvent>(event: E, fields: TrailFields<E> | (() => TrailFields<E>)): void;
}

/** For an operation without a gateway, which has no log. */
export const noTrail: TrailLog = { note: () => undefined };
