/**
 * Allows one operation per Idempotency-Key and user. Stored records answer retries. Owns the operations in
 * progress or in doubt, in memory, from the write to the store until its outcome is known. A request that is
 * refused before its write leaves its key free.
 */
import { PairMap } from '../lib/pair-map.js';
import type { IdempotencyRecord } from '../model/records.js';
import type { Reader } from '../store/store.js';
import type { Stored } from '../store/write-queue.js';

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

/**
 * @returns the trimmed key; undefined when the header is missing, repeated or invalid. U+FFFD is invalid:
 * different bytes that are not UTF-8 arrive as it (native-notes/http-parser.md), and two keys would count as
 * one.
 */
export function readIdempotencyKey(
  value: string,
  count: number,
  lengthMax: number,
): string | undefined {
  const key = value.trim();
  const isValid =
    count === 1 && key.length >= 1 && key.length <= lengthMax && !invalidCharacter.test(key);
  return isValid ? key : undefined;
}

const invalidCharacter = /[\u0000-\u001f\u007f\ufffd]/;

export class Idempotency {
  /** By userId and key. */
  readonly #unsettled = new PairMap<Unsettled>();

  constructor(readonly store: Reader) {}

  /**
   * `now`: wall time in Unix ms. Calls `fingerprintOf` only if the key is bound: a free key, such as that of
   * a request which is then refused, costs no hash of the body.
   */
  lookUp(userId: string, key: string, fingerprintOf: () => string, now: number): IdempotencyState {
    const unsettled = this.#unsettled.get(userId, key);
    if (unsettled !== undefined) {
      if (unsettled.fingerprint !== fingerprintOf()) return { kind: 'idempotency_conflict' };
      return { kind: unsettled.inDoubt ? 'idempotency_outcome_unknown' : 'request_in_progress' };
    }
    const record = this.store.get('idempotency', [userId, key]);
    if (record === undefined || record.expiresAt <= now) return { kind: 'free' };
    if (record.fingerprint !== fingerprintOf()) return { kind: 'idempotency_conflict' };
    return { kind: 'replay', record };
  }

  begin(userId: string, key: string, fingerprint: string): void {
    this.#unsettled.set(userId, key, { fingerprint, inDoubt: false });
  }

  /** The outcome is known: the operation is in the store, or did not happen and the key is free. */
  settle(userId: string, key: string): void {
    this.#unsettled.delete(userId, key);
  }

  /** The outcome is unknown until `settle`. */
  doubt(userId: string, key: string): void {
    const unsettled = this.#unsettled.get(userId, key);
    if (unsettled !== undefined) unsettled.inDoubt = true;
  }
}

/**
 * What the commit of a cancel stores for its key. No request refers to the record: retention finds it by its
 * own row.
 * @param ulid of the time of the cancel.
 */
export function boundToCancel(
  userId: string,
  key: string,
  record: IdempotencyRecord,
  ulid: string,
): Stored {
  return {
    put(batch) {
      batch.put('idempotency', [userId, key], record);
      batch.put('cancelKeys', [userId, ulid], key);
    },
  };
}
