/**
 * The ids of API keys belong to their gateway, so an imported user's keys get new ones, and so do the records that
 * name the key of an order. The records come before the keys: the new ids are reserved at the begin of the import,
 * as many as the highest old id, and each is the old one plus an offset. Ids that no key takes stay unused.
 */
import type { Reader, Writer } from '../store/store.js';
import type { UserFileHead, UserRow } from './user-file.js';

export interface KeyIds {
  /** Undefined for a file of an earlier version, whose records name no key. */
  readonly offset: number | undefined;
  /** Highest old id that a new one is reserved for. */
  readonly idMax: number;
}

export function reserveKeyIds(
  transaction: Reader & Writer,
  { keyIdMax }: Pick<UserFileHead, 'keyIdMax'>,
): KeyIds {
  if (keyIdMax === undefined) return { offset: undefined, idMax: 0 };
  const next = Number(transaction.get('meta', 'nextKeyId') ?? 1);
  transaction.put('meta', 'nextKeyId', next + keyIdMax);
  return { offset: next - 1, idMax: keyIdMax };
}

/** @returns undefined for a key that its gateway had no more: the id behind the reserved ones is another's. */
export function newKeyId(id: number | undefined, { offset, idMax }: KeyIds): number | undefined {
  return id === undefined || offset === undefined || id > idMax ? undefined : offset + id;
}

/** A key with a higher id would take one that belongs to another user. */
export function isReserved(row: UserRow, { keyIdMax }: Pick<UserFileHead, 'keyIdMax'>): boolean {
  return row.collection !== 'apiKeys' || keyIdMax === undefined || row.record.id <= keyIdMax;
}

export function withKeyIds(row: UserRow, keyIds: KeyIds): UserRow {
  switch (row.collection) {
    case 'requests':
      return { ...row, record: { ...row.record, keyId: newKeyId(row.record.keyId, keyIds) } };
    case 'openExecutions':
    case 'finalExecutions': {
      const { keyId, cancel } = row.record;
      const moved = cancel && { ...cancel, keyId: newKeyId(cancel.keyId, keyIds) };
      return { ...row, record: { ...row.record, keyId: newKeyId(keyId, keyIds), cancel: moved } };
    }
    case 'cancelAlls': {
      const { trail } = row.record;
      const moved = { ...trail, keyId: newKeyId(trail.keyId, keyIds) };
      return { ...row, record: { ...row.record, trail: moved } };
    }
    default:
      return row;
  }
}
