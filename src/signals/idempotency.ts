/**
 * One operation per Idempotency-Key and user. What is stored answers a retry; what is under way or
 * in doubt lives here, in memory, from the moment the operation goes to the store until its outcome
 * is known. Nothing is bound to a key before that, so a refused request leaves its key free.
 */
import type { IdempotencyRecord } from '../model/records.js';
import type { Reader } from '../store/store.js';

export type IdempotencyState =
  | { readonly kind: 'free' }
  | { readonly kind: 'replay'; readonly record: IdempotencyRecord }
  | {
      readonly kind: 'idempotency_conflict' | 'request_in_progress' | 'idempotency_outcome_unknown';
    };

interface Unsettled {
  readonly fingerprint: string;
  inDoubt: boolean;
}

/** @returns the trimmed key, or undefined where the header is missing, doubled or not allowed. */
export function readIdempotencyKey(
  value: string,
  count: number,
  lengthMax: number,
): string | undefined {
  const key = value.trim();
  const isValid =
    count === 1 && key.length >= 1 && key.length <= lengthMax && !controlCharacter.test(key);
  return isValid ? key : undefined;
}

const controlCharacter = /[\u0000-\u001f\u007f]/;

export class Idempotency {
  readonly #unsettled = new Map<string, Unsettled>();

  constructor(readonly store: Reader) {}

  /** `now`: wall time in Unix ms. */
  look(userId: string, key: string, fingerprint: string, now: number): IdempotencyState {
    const unsettled = this.#unsettled.get(`${userId} ${key}`);
    if (unsettled !== undefined) {
      if (unsettled.fingerprint !== fingerprint) return { kind: 'idempotency_conflict' };
      return { kind: unsettled.inDoubt ? 'idempotency_outcome_unknown' : 'request_in_progress' };
    }
    const record = this.store.get('idempotency', [userId, key]);
    if (record === undefined || record.expiresAt <= now) return { kind: 'free' };
    if (record.fingerprint !== fingerprint) return { kind: 'idempotency_conflict' };
    return { kind: 'replay', record };
  }

  begin(userId: string, key: string, fingerprint: string): void {
    this.#unsettled.set(`${userId} ${key}`, { fingerprint, inDoubt: false });
  }

  /** The outcome is known: from now on the store answers for it, or nothing does. */
  settle(userId: string, key: string): void {
    this.#unsettled.delete(`${userId} ${key}`);
  }

  /** The outcome cannot be known for now. */
  doubt(userId: string, key: string): void {
    const unsettled = this.#unsettled.get(`${userId} ${key}`);
    if (unsettled !== undefined) unsettled.inDoubt = true;
  }
}
