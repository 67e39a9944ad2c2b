/**
 * The shape of everything that outlives the process. Times are Unix milliseconds. Money is a JSON
 * number exactly as the terminal reported it; nothing here computes with it.
 */
import type { Scope } from './scopes.js';
import type { Execution } from './execution.js';

export interface User {
  readonly userId: string;
  /** As given; looked up in lower case. */
  readonly email: string;
  readonly plan: string;
  /** Argon2id in PHC string form. */
  readonly passwordHash: string;
  readonly confirmed: boolean;
  readonly frozen: boolean;
  /** Raised when the password changes: user tokens of an earlier generation are refused. */
  readonly tokenGeneration: number;
  /** Raised by `session revoke` and when the password changes: likewise for session tokens. */
  readonly sessionGeneration: number;
  readonly createdAt: number;
  /** While it is being moved to another gateway: what it was before it stood still for that. */
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

/** What a retry with the same Idempotency-Key gets. */
export interface IdempotencyRecord {
  /** Names the operation and what it was applied to; another one is a conflict. */
  readonly fingerprint: string;
  readonly requestId: string;
  /** The body of the 202, byte for byte. */
  readonly answer: string;
  readonly expiresAt: number;
}

/** An accepted signal. Never changed after acceptance: its progress is in its executions. */
export interface SignalRequest {
  readonly requestId: string;
  readonly signalId: string;
  readonly acceptedAt: number;
  readonly ts: number;
  /** `ts + ttlMs`: no terminal gets the signal after it. */
  readonly expiresAt: number;
  readonly platform: string;
  readonly type: string;
  readonly cmd: string;
  readonly instanceId: string | null;
  /** The payload's JSON text exactly as the bot sent it, so that no number loses a digit. */
  readonly payload: string;
  readonly idempotencyKey: string;
  readonly executionCount: number;
  /** Signals of the user accepted on this UTC day, this one included: the daily quota's memory. */
  readonly signalsToday: number;
}

/** One terminal of a user, as its plugin last introduced it. */
export interface SourceRecord {
  readonly platform: string;
  readonly instanceId: string;
  readonly accountName: string;
  readonly capabilities: readonly Capability[];
  readonly software: { readonly name: string; readonly version: string };
  /** Highest `seq` of this source whose effect is on disk; 0 before the first. */
  readonly lastSeq: number;
  readonly lastSeenAt: number;
}

export const capabilities = ['submit', 'cancel', 'snapshot'] as const;
export type Capability = (typeof capabilities)[number];

/** Whole-gateway switches that the operator's shell sets while the gateway runs. */
export interface Switches {
  readonly publicApi: { readonly enabled: boolean };
}

export type { Execution };
