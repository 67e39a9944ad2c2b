/**
 * Allows one operation per Idempotency-Key and user. Stored records answer retries. Operations in progress or
 * in doubt are held in memory, from the write to the store until its outcome is known. A key is not bound
 * earlier, so a rejected request leaves its key free.
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
 * @returns the trimmed key; undefined when the header is missing, repeated or invalid. Different bytes that are not
 * UTF-8 arrive as the same U+FFFD (native-notes/http-parser.md), so that two keys would count as one.
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
   * `now`: wall time in Unix ms. `fingerprintOf` is asked only where the key is bound: a free one, as of a request
   * that is then refused, costs no hash of the body.
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
 * What the commit of a cancel puts for its key. No request leads to it, so that retention finds it by a row of its own.
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
