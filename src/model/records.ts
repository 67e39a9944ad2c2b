/**
 * Defines the records in the store. Times are Unix milliseconds. Money is a JSON number exactly as the terminal
 * reported it.
 */
import type { Scope } from './scopes.js';
import type { Execution } from './execution.js';

export interface User {
  readonly userId: string;
  /** As entered; compared in lower case. */
  readonly email: string;
  readonly plan: string;
  /** Argon2id, PHC string format. */
  readonly passwordHash: string;
  readonly confirmed: boolean;
  readonly frozen: boolean;
  /** Incremented when the password changes: user tokens of an earlier generation are rejected. */
  readonly tokenGeneration: number;
  /** Incremented by `session revoke` and when the password changes: the same for session tokens. */
  readonly sessionGeneration: number;
  readonly createdAt: number;
  /** Present while the user is being moved to another gateway: the values to restore if the move is undone. */
  readonly moving?: { readonly frozen: boolean; readonly confirmed: boolean };
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
export interface SignalRequest {
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
  /** The payload's JSON text exactly as the bot sent it, so that no number loses precision. */
  readonly payload: string;
  readonly idempotencyKey: string;
  readonly executionCount: number;
  /** Signals of the user accepted on this UTC day, including this one: restores the daily quota. */
  readonly signalsToday: number;
}

/** One terminal account of a user, as in its plugin's latest hello. */
export interface SourceRecord {
  readonly platform: string;
  readonly instanceId: string;
  readonly accountName: string;
  readonly capabilities: readonly Capability[];
  readonly software: { readonly name: string; readonly version: string };
  /** Highest durable `seq` of this source; 0 before the first. */
  readonly lastSeq: number;
  readonly lastSeenAt: number;
}

export const capabilities = ['submit', 'cancel', 'snapshot'] as const;
export type Capability = (typeof capabilities)[number];

/** Gateway-wide switches that the operator can change at run time. */
export interface Switches {
  readonly publicApi: { readonly enabled: boolean };
}

export type { Execution };
