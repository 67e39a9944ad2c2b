/** Writes all that belongs to a user into a file, as one moment of the store. */
import { findUser } from '../auth/accounts.js';
import { resumed } from '../auth/moving.js';
import type { KeyOf } from '../store/key-layout.js';
import type { Reader } from '../store/store.js';
import { createUserFile, type MovedCollection, type MovedRow } from './user-file.js';

const rowsPerRead = 256;

export interface Departure {
  readonly userId: string;
  readonly email: string;
  readonly isMove: boolean;
  readonly rows: number;
}

/**
 * Runs within one turn, and so within one snapshot: for a command, never for a gateway.
 * @returns undefined when there is no such user. Throws the system's error when the file cannot be
 * written; nothing of it is left then.
 */
export function exportUser(
  reader: Reader,
  email: string,
  path: string,
  now: number,
): Departure | undefined {
  const user = findUser(reader, email);
  if (user === undefined) return undefined;
  const { userId, plan } = user;
  const isMove = user.moving !== undefined;
  const file = createUserFile(path, { userId, email: user.email, plan, exportedAt: now, isMove });
  try {
    for (const row of rowsOf(reader, userId)) file.write(row);
    return { userId, email: user.email, isMove, rows: file.finish() };
  } catch (error) {
    file.drop();
    throw error;
  }
}

function* rowsOf(reader: Reader, userId: string): Generator<MovedRow, void, void> {
  const owned = { prefix: [userId] };
  yield* rows(reader, 'requests', owned);
  yield* rows(reader, 'signalIds', owned);
  yield* rows(reader, 'idempotency', owned);
  yield* rows(reader, 'openExecutions', owned);
  yield* rows(reader, 'finalExecutions', owned);
  yield* rows(reader, 'sources', owned);
  const user = reader.get('users', userId);
  if (user !== undefined) yield { collection: 'users', key: userId, record: resumed(user) };
  for (const { key, record: hash } of reader.range('apiKeyHashes', owned)) {
    const apiKey = reader.get('apiKeys', hash);
    if (apiKey !== undefined) yield { collection: 'apiKeys', key: hash, record: apiKey };
    const id = Math.abs(key[1]);
    const usedAt = reader.get('apiKeyUses', id);
    if (usedAt !== undefined) yield { collection: 'apiKeyUses', key: id, record: usedAt };
  }
  for (const hash of reader.keys('sessions')) {
    const session = reader.get('sessions', hash);
    if (session?.userId === userId) yield { collection: 'sessions', key: hash, record: session };
  }
}

type OwnedCollection = {
  [C in MovedCollection]: KeyOf<C> extends string[] ? C : never;
}[MovedCollection];

/** A few at a time, so that a user may have more than fits into memory. */
function* rows(
  reader: Reader,
  collection: OwnedCollection,
  owned: { readonly prefix: readonly string[] },
): Generator<MovedRow, void, void> {
  let last: KeyOf<OwnedCollection> | undefined;
  for (;;) {
    const from = last === undefined ? owned : { ...owned, start: last };
    const entries = reader.range(collection, { ...from, limit: rowsPerRead });
    for (const { key, record } of entries) {
      if (last !== undefined && isSame(key, last)) continue;
      yield { collection, key, record } as MovedRow;
    }
    if (entries.length < rowsPerRead) return;
    last = entries.at(-1)?.key;
  }
}

function isSame(a: readonly string[], b: readonly string[]): boolean {
  return a.every((part, index) => part === b[index]);
}
