/**
 * The ids of API keys belong to their gateway, so an imported user's keys get new ones, and so do the records that
 * name the key of an order. The records come before the keys, so the new ids are reserved at the begin of the
 * import, as many as there are keys. One for each id up to the highest would be more with each move to and fro,
 * until the numbers end.
 */
import type { Reader, Writer } from '../store/store.js';
import type { UserRow } from './user-file.js';

/** The new ids by the old ones. */
export type KeyIds = ReadonlyMap<number, number>;

/** @param old the ids of the user's keys. */
export function reserveKeyIds(transaction: Reader & Writer, old: readonly number[]): KeyIds {
  const next = Number(transaction.get('meta', 'nextKeyId') ?? 1);
  transaction.put('meta', 'nextKeyId', next + old.length);
  const ascending = [...old].sort((a, b) => a - b);
  return new Map(ascending.map((id, index) => [id, next + index]));
}

/** @returns undefined for a key that its former gateway had removed. */
function newKeyId(id: number | undefined, keyIds: KeyIds): number | undefined {
  return id === undefined ? undefined : keyIds.get(id);
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
