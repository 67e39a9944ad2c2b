/**
 * Defines the records in the store. Times are Unix milliseconds. Money is a JSON number exactly as the terminal
 * reported it.
 */
import type { CancelCause } from './cancellation.js';
import type { Scope } from './scopes.js';
import type { SourceName } from './source-name.js';
import type { Trail } from './trail.js';

export interface User {
  readonly userId: string;
  /** As entered; compared in lower case. */
  readonly email: string;
  readonly plan: string;
  /** Argon2id, PHC string format. */
  readonly passwordHash: string;
  readonly confirmed: boolean;
  readonly frozen: boolean;
  /** Incremented by a new password and by a suspension: user tokens of an earlier generation are rejected. */
  readonly tokenGeneration: number;
  /** Incremented by a new password and by `session revoke`: sessions of an earlier generation end. */
  readonly sessionGeneration: number;
  readonly createdAt: number;
  /** Present while the user is being moved to another gateway: the values to restore if the move is undone. */
  readonly moving?: { readonly frozen: boolean; readonly confirmed: boolean };
}

/** Bounds the orders of a key, and the addresses that may use it. A member that is absent bounds nothing. */
export interface KeyLimits {
  /** Addresses and CIDR ranges. */
  readonly allowedIps?: readonly string[];
  readonly allowedInstruments?: readonly string[];
  readonly maxOrderQuantity?: number;
  readonly maxOpenOrders?: number;
  readonly maxOrdersPerSecond?: number;
}

/** A Public API key; its store key is the hash of its secret. */
export interface ApiKey {
  readonly id: number;
  readonly userId: string;
  readonly name: string;
  readonly displayPrefix: string;
  readonly scopes: readonly Scope[];
  readonly createdAt: number;
  readonly expiresAt: number | null;
  readonly revokedAt: number | null;
  /** Never changes. Absent in records of earlier versions, which have none. */
  readonly limits?: KeyLimits | null;
}

/** A plugin's credential; its store key is the hash of the token. */
export interface Session {
  readonly userId: string;
  readonly generation: number;
  readonly createdAt: number;
  readonly expiresAt: number;
}

/** The stored response for retries with the same Idempotency-Key. */
export interface IdempotencyRecord {
  /** Identifies the operation and its target; a request with another fingerprint is a conflict. */
  readonly fingerprint: string;
  readonly requestId: string;
  /** The body of the 202, byte for byte. */
  readonly answer: string;
  readonly expiresAt: number;
}

/** An accepted signal. Immutable: its progress is in its executions. */
export interface SignalRequest extends Trail {
  readonly requestId: string;
  readonly signalId: string;
  readonly acceptedAt: number;
  readonly ts: number;
  /** `ts + ttlMs`: the signal is not sent to a terminal after it. */
  readonly expiresAt: number;
  readonly platform: string;
  readonly type: string;
  readonly cmd: string;
  readonly instanceId: string | null;
  /** Absent unless the bot named an account. */
  readonly accountName?: string | undefined;
  /** The payload's JSON text exactly as the bot sent it, so that no number loses precision. */
  readonly payload: string;
  readonly idempotencyKey: string;
  readonly executionCount: number;
  /**
   * Signals of the user accepted on this UTC day, this one included: restores the daily quota. Does not count
   * earlier ones from `undecidedFrom` on, whose outcome was not known.
   */
  readonly signalsToday: number;
  /** Id of the oldest request whose outcome was not known; absent if there was none. */
  readonly undecidedFrom?: string | undefined;
}

/** The dead-man's switch of an API key. */
export interface CancelAfterRecord {
  readonly timeoutMs: number;
  /** Unix ms; null while it is not armed. */
  readonly firesAt: number | null;
  /** Unix ms. */
  readonly lastFiredAt: number | null;
}

/** What a cancel of all orders decided; kept until every order has what it is owed. */
export interface CancelAllRecord {
  readonly cause: CancelCause;
  /** Unix ms. */
  readonly requestedAt: number;
  readonly trail: Trail;
  /** What each order is owed, as signals/owed-cancels.ts writes it. */
  readonly orders: readonly string[];
}

/** One terminal account of a user, as in its plugin's latest hello. */
export interface SourceRecord extends SourceName {
  readonly capabilities: readonly Capability[];
  readonly software: { readonly name: string; readonly version: string };
  /** Highest durable `seq` of this source; 0 before the first. */
  readonly lastSeq: number;
  readonly lastSeenAt: number;
}

export const capabilities = ['submit', 'cancel', 'snapshot'] as const;
export type Capability = (typeof capabilities)[number];

/** Longest reason of a halt, in UTF-16 code units. */
export const haltReasonLengthMax = 500;

/** Gateway-wide switches that the operator can change at run time. */
export interface Switches {
  readonly publicApi: { readonly enabled: boolean };
  /** While halted, no order is accepted and none leaves. `since`: Unix milliseconds. */
  readonly halt: {
    readonly halted: boolean;
    readonly reason: string | null;
    readonly since: number | null;
  };
}
