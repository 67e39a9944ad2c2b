/**
 * A trading signal on its way to the gateway: what the bot fills in, what is stored before it is
 * sent, and what the gateway answers. Source: the public API specification.
 */
import { field, text } from './json-fields.js';

/** The envelope, without what the client fills in when it is absent. */
export interface SignalDraft {
  /** Default: 1, the only version there is. */
  readonly v?: 1;
  /** 1 to 128 characters, unique per user for 30 days. Default: a ULID. */
  readonly signalId?: string;
  /** Unix milliseconds, at most 60 s in the future. Default: now. */
  readonly ts?: number;
  /** 1 to 300000 milliseconds: no terminal gets the signal later than this after `ts`. */
  readonly ttlMs: number;
  /** One or more comma-separated platform tokens, such as `terminal_a`. */
  readonly platform: string;
  /** 1 to 64 characters, such as `order`. */
  readonly type: string;
  /** 1 to 64 characters, such as `submit`. */
  readonly cmd: string;
  /** What `type` and `cmd` ask for; an order has `instrument`, `side`, `executionType`, `quantity`. */
  readonly payload: object;
  /** 1 to 128 characters. Default: every terminal of the platforms gets the signal. */
  readonly instanceId?: string;
}

/** A signal ready to be sent, as plain JSON: store it first, and a crash cannot double an order. */
export interface PreparedSignal {
  readonly idempotencyKey: string;
  /** Sent byte for byte as it stands, in every attempt. */
  readonly body: string;
  readonly signalId: string;
  /** Unix milliseconds. */
  readonly preparedAt: number;
  /** `ts + ttlMs` in Unix milliseconds. */
  readonly expiresAt: number;
}

/** The gateway has the signal on disk. It does not say that any terminal has it. */
export interface Acceptance {
  readonly requestId: string;
  readonly signalId: string;
  readonly status: 'accepted';
  /** ISO 8601 UTC. */
  readonly acceptedAt: string;
  readonly idempotencyKey: string;
  /** An earlier attempt had been accepted: this is its answer again. */
  readonly replayed: boolean;
}

/** @returns undefined when the answer is not the body of an acceptance. */
export function readAcceptance(
  body: unknown,
  idempotencyKey: string,
  replayed: boolean,
): Acceptance | undefined {
  const requestId = text(field(body, 'requestId'));
  const signalId = text(field(body, 'signalId'));
  const acceptedAt = text(field(body, 'acceptedAt'));
  if (requestId === undefined || signalId === undefined || acceptedAt === undefined) {
    return undefined;
  }
  return { requestId, signalId, status: 'accepted', acceptedAt, idempotencyKey, replayed };
}
