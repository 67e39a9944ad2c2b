/**
 * Writes an exported user into a store. The rows that are invisible without their user are written
 * first, in batches, under a mark; a running gateway then loads its open executions; and at last one
 * transaction adds the user with its keys and sessions and removes the mark. An import that was cut off
 * leaves the mark and rows without a user: the next import of the same user, or a discard, removes them.
 */
import { putApiKey } from '../auth/api-key.js';
import { emailKey } from '../auth/email.js';
import type { Clock } from '../lib/clock.js';
import { collectionsWith, collectionTraits, importKeyOf, purgeKeyOf } from '../store/key-layout.js';
import type { Reader, Store, Writer } from '../store/store.js';
import { type KeyIds, reserveKeyIds, withKeyIds } from './key-ids.js';
import type { UserFileHead, UserRow } from './user-file.js';

/** A transaction holds up the loop and all other commits while it runs. */
const rowsPerBatch = 64;

/** Collections in which nothing finds a row while its user does not exist; a purge removes the same rows. */
const hiddenCollections = collectionsWith('purged');

export type ImportRefusal =
  | 'email_taken'
  | 'user_exists'
  | 'import_under_way'
  | 'leftovers'
  | 'foreign_row'
  | 'command_gone';

export interface ImportDeps {
  readonly store: Store;
  readonly clock: Pick<Clock, 'now'>;
  /** Of the gateway that runs on the store, if one does. */
  readonly effects: {
    userChanged(userId: string): void;
    adoptUser(userId: string): Promise<void>;
    settled(): Promise<void>;
  };
  /** Users whose import or discard is under way: a mark of any other was left by an import that was cut off. */
  readonly importing: Set<string>;
}

/** `lost`: the command is gone, and its rows are not complete. */
export type NextRow = () => Promise<{ readonly row: unknown } | 'end' | 'lost'>;

interface ImportedUser extends Pick<UserFileHead, 'userId' | 'email'> {
  /** The ids of its keys in the gateway that it comes from. */
  readonly keyIds: readonly number[];
}

/** @returns the number of rows. */
export async function importUser(
  deps: ImportDeps,
  user: ImportedUser,
  next: NextRow,
): Promise<number | ImportRefusal> {
  const { importing } = deps;
  if (importing.has(user.userId)) return 'import_under_way';
  importing.add(user.userId);
  try {
    const keyIds = await begin(deps, user);
    return typeof keyIds === 'string' ? keyIds : await writeRows(deps, user, keyIds, next);
  } finally {
    importing.delete(user.userId);
  }
}

async function begin(deps: ImportDeps, user: ImportedUser): Promise<ImportRefusal | KeyIds> {
  const { store, clock } = deps;
  const { userId } = user;
  const begun = await store.transact((transaction) => {
    const found = obstacle(transaction, user);
    if (found !== undefined) return found;
    transaction.put('meta', importKeyOf(userId), clock.now());
    transaction.remove('meta', purgeKeyOf(userId));
    return reserveKeyIds(transaction, user.keyIds);
  });
  if (typeof begun !== 'string') await clear(deps, userId);
  return begun;
}

async function writeRows(
  { store, effects }: ImportDeps,
  user: ImportedUser,
  keyIds: KeyIds,
  next: NextRow,
): Promise<number | ImportRefusal> {
  const { userId, email } = user;
  const visible: UserRow[] = [];
  let batch: UserRow[] = [];
  let count = 0;
  const writeBatch = async (): Promise<void> => {
    const full = batch;
    batch = [];
    await store.transact((transaction) => {
      for (const row of full) {
        put(transaction, withKeyIds(row, keyIds));
        putUnknown(transaction, row);
      }
    });
  };
  for (let given = await next(); given !== 'end'; given = await next()) {
    if (given === 'lost') return 'command_gone';
    const row = given.row as UserRow;
    const hasId = row.collection !== 'apiKeys' || keyIds.has(row.record.id);
    if (!isOf(userId, row) || !hasId) return 'foreign_row';
    count++;
    if (isHidden(row)) batch.push(row);
    else visible.push(row);
    if (batch.length >= rowsPerBatch) await writeBatch();
  }
  await writeBatch();

  try {
    await effects.adoptUser(userId);
    await effects.settled();
    const late = await store.transact((transaction) => {
      if (transaction.get('emails', emailKey(email)) !== undefined) return 'email_taken';
      if (visible.some((row) => isOfOther(transaction, userId, row))) return 'foreign_row';
      putAccount(transaction, user, keyIds, visible);
      return undefined;
    });
    return late ?? count;
  } finally {
    // A user that is not added after all is forgotten: the next import gives its orders other ids of keys.
    effects.userChanged(userId);
  }
}

/** Adds the row of `unknownOrders`, which a file of an earlier version lacks. */
function putUnknown(batch: Writer, { collection, key, record }: UserRow): void {
  if (collection !== 'finalExecutions') return;
  if (record.status === 'unknown') batch.put('unknownOrders', key, record.updatedAt);
}

function isHidden({ collection }: UserRow): boolean {
  return collectionTraits[collection].purged !== null;
}

/** Whether the row is the user's, in an exported collection: another row would change what is not imported. */
function isOf(userId: string, { collection, key, record }: UserRow): boolean {
  if (!(collectionsWith('exported') as readonly string[]).includes(collection)) return false;
  if (collectionTraits[collection].ownedByKey) return (key as readonly unknown[])[0] === userId;
  if (collection === 'apiKeyUses') return true;
  return (record as { readonly userId?: unknown }).userId === userId;
}

/** Whether another user here has the key or session: its secret would lead to the imported user. */
function isOfOther(reader: Reader, userId: string, { collection, key }: UserRow): boolean {
  if (collection !== 'apiKeys' && collection !== 'sessions') return false;
  return (reader.get(collection, key)?.userId ?? userId) !== userId;
}

/** Removes what a cut-off import of this user left. @returns why nothing was removed, if so. */
export async function discardImport(
  deps: ImportDeps,
  userId: string,
): Promise<'nothing_to_discard' | 'import_under_way' | undefined> {
  const { store, importing } = deps;
  if (importing.has(userId)) return 'import_under_way';
  const mark = store.get('meta', importKeyOf(userId));
  if (mark === undefined) return 'nothing_to_discard';
  // An import that began meanwhile would lose rows to the discard.
  importing.add(userId);
  try {
    await clear(deps, userId);
    await store.transact((transaction) => transaction.remove('meta', importKeyOf(userId)));
  } finally {
    importing.delete(userId);
  }
  return undefined;
}

function obstacle(reader: Reader, { userId, email }: ImportedUser): ImportRefusal | undefined {
  // Before the email: an import whose answer was lost is run again.
  if (reader.get('users', userId) !== undefined) return 'user_exists';
  if (reader.get('emails', emailKey(email)) !== undefined) return 'email_taken';
  if (reader.get('meta', importKeyOf(userId)) !== undefined) return undefined;
  const owned = { prefix: [userId], limit: 1 };
  const isLeft = hiddenCollections.some((each) => reader.keys(each, owned).length > 0);
  return isLeft ? 'leftovers' : undefined;
}

/** Removes the rows of a cut-off import. A gateway that has started since forgets the executions it has loaded. */
async function clear({ store, effects }: ImportDeps, userId: string): Promise<void> {
  effects.userChanged(userId);
  await effects.settled();
  for (const collection of hiddenCollections) {
    for (;;) {
      const keys = store.keys(collection, { prefix: [userId], limit: rowsPerBatch });
      if (keys.length === 0) break;
      await store.transact((transaction) => {
        for (const key of keys) transaction.remove(collection, key);
      });
    }
  }
}

function put(transaction: Writer, row: UserRow): void {
  // An execution that became final during the export has come as an open one before.
  if (row.collection === 'finalExecutions') transaction.remove('openExecutions', row.key);
  // The type of the row has paired its key and its record.
  (transaction.put as (collection: string, key: unknown, record: unknown) => void)(
    row.collection,
    row.key,
    row.record,
  );
}

function putAccount(
  transaction: Reader & Writer,
  { userId, email }: ImportedUser,
  keyIds: KeyIds,
  rows: readonly UserRow[],
): void {
  for (const row of rows) {
    if (row.collection === 'apiKeys') {
      const id = keyIds.get(row.record.id) as number;
      putApiKey(transaction, row.key, { ...row.record, id });
    } else if (row.collection === 'apiKeyUses') {
      const id = keyIds.get(row.key);
      if (id !== undefined) transaction.put('apiKeyUses', id, row.record);
    } else put(transaction, row);
  }
  transaction.put('emails', emailKey(email), userId);
  transaction.remove('meta', importKeyOf(userId));
}
