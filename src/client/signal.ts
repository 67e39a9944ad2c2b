/**
 * Defines the request to submit a signal: the bot's draft, the prepared request that a bot can store, and the
 * response. Source: the public API specification.
 */
import { field, text } from './json-fields.js';

/** The envelope; the client sets absent fields. */
export interface SignalDraft {
  /** Default: 1, the only version. */
  readonly v?: 1;
  /** 1 to 128 characters, unique per user for 30 days. Default: a ULID. */
  readonly signalId?: string;
  /** Unix milliseconds, at most 60 s in the future. Default: now. */
  readonly ts?: number;
  /** 1 to 300000 milliseconds: the signal is not sent to a terminal later than this after `ts`. */
  readonly ttlMs: number;
  /** One or more comma-separated platform tokens, such as `terminal_a`. */
  readonly platform: string;
  /** 1 to 64 characters, such as `order`. */
  readonly type: string;
  /** 1 to 64 characters, such as `submit`. */
  readonly cmd: string;
  /** Parameters of the command; an order has `instrument`, `side`, `executionType`, `quantity`. */
  readonly payload: object;
  /** 1 to 128 characters. Default: every terminal of the platforms gets the signal. */
  readonly instanceId?: string;
  /** 1 to 128 characters. Default: every account of these terminals gets the signal. */
  readonly accountName?: string;
}

/** A signal that is ready to be sent, as plain JSON. Store it before you send it, to resume after a crash. */
export interface PreparedSignal {
  readonly idempotencyKey: string;
  /** Sent unchanged in every attempt. */
  readonly body: string;
  readonly signalId: string;
  /** Unix milliseconds. */
  readonly preparedAt: number;
  /** `ts + ttlMs` in Unix milliseconds. */
  readonly expiresAt: number;
}

/** The signal is durable at the gateway. Does not mean that a terminal has received it. */
export interface Acceptance {
  readonly requestId: string;
  readonly signalId: string;
  readonly status: 'accepted';
  /** ISO 8601 UTC. */
  readonly acceptedAt: string;
  readonly idempotencyKey: string;
  /** True if an earlier attempt was accepted, and this is its stored response. */
  readonly replayed: boolean;
}

/** @returns undefined when the body is not that of an acceptance. */
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
