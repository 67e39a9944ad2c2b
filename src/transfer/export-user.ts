/**
 * Sends the rows of a user in slices, so that a gateway exports one while it serves the others. Each
 * slice is a snapshot of its own. For a suspended user that is enough: its terminals are closed and its
 * signals are refused, so nothing is added or reported, and but for cancels and changes of keys, which end
 * the export, only timers change an execution, from open to final. Open executions are read before the final
 * ones, so one that becomes final in between is sent twice and never missed; the importer keeps the final row.
 */
import { isDeepStrictEqual } from 'node:util';
import { resumed } from '../auth/moving.js';
import type { Clock } from '../lib/clock.js';
import type { User } from '../model/records.js';
import { asOfCopy } from '../signals/sendable.js';
import { type CollectionsWith, collectionsWith, collectionTraits } from '../store/key-layout.js';
import type { Reader, Store } from '../store/store.js';
import { walk } from '../store/walk.js';
import type { ExportedCollection, UserFileHead, UserRow } from './user-file.js';

/** The longest that a turn of the loop reads. */
const sliceMs = 2;

export interface ExportDeps {
  readonly reader: Reader & Pick<Store, 'isCopy'>;
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
  /** Ends the turn, and with it the snapshot. */
  readonly pause: () => Promise<void>;
  /** Resolves when the receiver takes more; false once it is gone. */
  readonly send: (line: UserFileHead | UserRow) => Promise<boolean>;
}

export interface ExportedUser {
  readonly userId: string;
  readonly email: string;
  readonly isMove: boolean;
  readonly rows: number;
}

export type ExportRefusal = 'user_changed' | 'command_gone';

/** @param user as suspended for the move, or as found: it may have changed since. */
export async function exportUser(
  { reader, clock, pause, send }: ExportDeps,
  user: User,
): Promise<ExportedUser | ExportRefusal> {
  const { userId, email, plan } = user;
  const isMove = user.moving !== undefined;
  const head = { userId, email, plan, exportedAt: clock.now(), isMove };
  // A cancel of all orders meanwhile changes some that have been read, and some that have not.
  const cancels = cancelsOf(reader, userId);
  if (!(await send(head))) return 'command_gone';
  const keys: UserRow[] = [];
  let rows = 0;
  let turnBegan = clock.monotonic();
  for (const row of rowsOf(reader, userId)) {
    if (row === 'changed') return 'user_changed';
    if (!(await send(row))) return 'command_gone';
    rows++;
    if (row.collection === 'apiKeys') keys.push(row);
    if (clock.monotonic() - turnBegan < sliceMs) continue;
    await pause();
    turnBegan = clock.monotonic();
  }
  const isWhole =
    !isMove ||
    (isDeepStrictEqual(cancels, cancelsOf(reader, userId)) &&
      isDeepStrictEqual(keys, apiKeyRows(reader, userId)));
  return isWhole && isSame(user, reader.get('users', userId))
    ? { userId, email, isMove, rows }
    : 'user_changed';
}

/** When each dead-man's switch of the user has fired last, and the newest cancel that a bot has asked for. */
function cancelsOf(reader: Reader, userId: string): readonly unknown[] {
  const prefix = [userId];
  const switches = reader.range('cancelAfters', { prefix });
  const fires = switches.map(({ record }) => record.lastFiredAt).filter((at) => at !== null);
  return [...fires, ...reader.keys('cancelKeys', { prefix, reverse: true, limit: 1 })];
}

function* rowsOf(
  reader: ExportDeps['reader'],
  userId: string,
): Generator<UserRow | 'changed', void, void> {
  const isCopy = reader.isCopy();
  for (const collection of collectionsWith('exported').filter(isOwned)) {
    for (const { key, record } of walk(reader, collection, { prefix: [userId] })) {
      const row = { collection, key, record } as UserRow;
      const isWaiting = isCopy && row.collection === 'openExecutions';
      yield isWaiting ? { ...row, record: asOfCopy(row.record) } : row;
    }
  }
  // Read in one turn: a user and keys of different moments would be imported as they are.
  yield* accountRows(reader, userId);
  for (const { key, record } of walk(reader, 'sessions')) {
    if (record.userId === userId) yield { collection: 'sessions', key, record };
  }
}

function accountRows(reader: Reader, userId: string): readonly (UserRow | 'changed')[] {
  const user = reader.get('users', userId);
  if (user === undefined) return ['changed'];
  const keys = apiKeyRows(reader, userId);
  const uses = keys.flatMap(({ record: { id } }): UserRow[] => {
    const usedAt = reader.get('apiKeyUses', id);
    return usedAt === undefined ? [] : [{ collection: 'apiKeyUses', key: id, record: usedAt }];
  });
  return [{ collection: 'users', key: userId, record: resumed(user) }, ...keys, ...uses];
}

type ApiKeyRow = Extract<UserRow, { readonly collection: 'apiKeys' }>;

/** Compared at the end: the other gateway would not know of a key that is made or revoked after these rows. */
function apiKeyRows(reader: Reader, userId: string): ApiKeyRow[] {
  return reader.range('apiKeyHashes', { prefix: [userId] }).flatMap(({ record: key }) => {
    const record = reader.get('apiKeys', key);
    return record === undefined ? [] : [{ collection: 'apiKeys' as const, key, record }];
  });
}

type OwnedAndExported = Extract<ExportedCollection, CollectionsWith<'ownedByKey'>>;

function isOwned(collection: ExportedCollection): collection is OwnedAndExported {
  return collectionTraits[collection].ownedByKey;
}

/**
 * A user that was resumed, or resumed and suspended again, has acted since its first rows were read; one that was
 * frozen has orders that were denied since.
 */
function isSame(before: User, after: User | undefined): boolean {
  return before.moving === undefined ? after !== undefined : isDeepStrictEqual(before, after);
}
