/**
 * Takes a user from a file into a store. First come the rows that nobody sees without their user, in
 * batches, under a mark; a running gateway then takes in what is open among them; and at last, in one
 * transaction, the user with its keys and sessions, and the mark goes. An import that was cut off has
 * left the mark and rows without a user: the next one of the same user removes them and begins anew.
 */
import { emailKey } from '../auth/email.js';
import type { Clock } from '../lib/clock.js';
import { recover } from '../signals/moves.js';
import { importPrefix, purgeKeyOf } from '../store/key-layout.js';
import type { ApiKey } from '../model/records.js';
import type { Reader, Store, Writer } from '../store/store.js';
import { type MovedRow, readUserRows, type UserFileHead } from './user-file.js';

/** A transaction holds up all other commits while it runs. */
const rowsPerBatch = 256;

/** Without their user they are seen by nobody. */
const quietCollections = [
  'requests',
  'signalIds',
  'idempotency',
  'openExecutions',
  'finalExecutions',
  'sources',
] as const;

export type ImportRefusal = 'email_taken' | 'user_exists' | 'import_under_way' | 'leftovers';

export interface ImportDeps {
  readonly store: Store;
  readonly clock: Pick<Clock, 'now'>;
  /** Of the gateway that runs on the store, if one does. */
  readonly effects: {
    userChanged(userId: string): void;
    adoptUser(userId: string): void;
    settled(): Promise<void>;
  };
  /** Users whose import is under way: a mark of any other was left by one that was cut off. */
  readonly importing: Set<string>;
}

type Arriving = Pick<UserFileHead, 'userId' | 'email'>;

/** @returns the number of rows taken in. */
export async function importUser(
  deps: ImportDeps,
  path: string,
  head: Arriving,
): Promise<number | ImportRefusal> {
  const { importing } = deps;
  if (importing.has(head.userId)) return 'import_under_way';
  importing.add(head.userId);
  try {
    return await takeIn(deps, path, head);
  } finally {
    importing.delete(head.userId);
  }
}

async function takeIn(
  { store, clock, effects }: ImportDeps,
  path: string,
  head: Arriving,
): Promise<number | ImportRefusal> {
  const { userId } = head;
  const refusal = await store.transact((transaction) => {
    const found = obstacle(transaction, head);
    if (found !== undefined) return found;
    transaction.put('meta', `${importPrefix}${userId}`, clock.now());
    transaction.remove('meta', purgeKeyOf(userId));
    return undefined;
  });
  if (refusal !== undefined) return refusal;
  await clear(store, userId);

  const visible: MovedRow[] = [];
  let batch: MovedRow[] = [];
  let count = 0;
  const writeBatch = async (): Promise<void> => {
    const full = batch;
    batch = [];
    await store.transact((transaction) => {
      for (const row of full) put(transaction, row);
    });
  };
  for (const row of readUserRows(path)) {
    count++;
    if ((quietCollections as readonly string[]).includes(row.collection)) batch.push(row);
    else visible.push(row);
    if (batch.length >= rowsPerBatch) await writeBatch();
  }
  await writeBatch();

  effects.adoptUser(userId);
  await effects.settled();
  const late = await store.transact((transaction) => {
    if (transaction.get('emails', emailKey(head.email)) !== undefined) return 'email_taken';
    appear(transaction, head, visible);
    return undefined;
  });
  if (late === undefined) effects.userChanged(userId);
  return late ?? count;
}

/**
 * Removes what an import of this user left that was cut off. A gateway forgets what it took in.
 * @returns false when there is nothing of the kind.
 */
export async function discardImport(
  { store, effects, importing }: ImportDeps,
  userId: string,
): Promise<boolean> {
  const mark = store.get('meta', `${importPrefix}${userId}`);
  if (mark === undefined || importing.has(userId)) return false;
  effects.userChanged(userId);
  await effects.settled();
  await clear(store, userId);
  await store.transact((transaction) => transaction.remove('meta', `${importPrefix}${userId}`));
  return true;
}

function obstacle(reader: Reader, { userId, email }: Arriving): ImportRefusal | undefined {
  if (reader.get('emails', emailKey(email)) !== undefined) return 'email_taken';
  if (reader.get('users', userId) !== undefined) return 'user_exists';
  if (reader.get('meta', `${importPrefix}${userId}`) !== undefined) return undefined;
  const owned = { prefix: [userId], limit: 1 };
  const isLeft = quietCollections.some((each) => reader.keys(each, owned).length > 0);
  return isLeft ? 'leftovers' : undefined;
}

async function clear(store: Store, userId: string): Promise<void> {
  for (const collection of quietCollections) {
    for (;;) {
      const keys = store.keys(collection, { prefix: [userId], limit: rowsPerBatch });
      if (keys.length === 0) break;
      await store.transact((transaction) => {
        for (const key of keys) transaction.remove(collection, key);
      });
    }
  }
}

function put(transaction: Writer, row: MovedRow): void {
  if (row.collection === 'openExecutions') {
    transaction.put(
      'openExecutions',
      row.key,
      recover(row.record, row.record.updatedAt) ?? row.record,
    );
  } else {
    // Which key goes with which record was settled where the row was made.
    (transaction.put as (collection: string, key: unknown, record: unknown) => void)(
      row.collection,
      row.key,
      row.record,
    );
  }
}

/** The numbers of API keys belong to the gateway: they are given anew, in the old order. */
function appear(
  transaction: Reader & Writer,
  { userId, email }: Arriving,
  rows: readonly MovedRow[],
): void {
  const next = Number(transaction.get('meta', 'nextKeyId') ?? 1);
  const keys = rows
    .filter((row) => row.collection === 'apiKeys')
    .sort((a, b) => a.record.id - b.record.id);
  const ids = new Map(keys.map(({ record }, index) => [record.id, next + index]));
  transaction.put('meta', 'nextKeyId', next + keys.length);
  for (const row of rows) {
    if (row.collection === 'apiKeys') {
      const id = ids.get(row.record.id) as number;
      putApiKey(transaction, row.key, { ...row.record, id });
    } else if (row.collection === 'apiKeyUses') {
      const id = ids.get(row.key);
      if (id !== undefined) transaction.put('apiKeyUses', id, row.record);
    } else put(transaction, row);
  }
  transaction.put('emails', emailKey(email), userId);
  transaction.remove('meta', `${importPrefix}${userId}`);
}

function putApiKey(transaction: Writer, hash: string, key: ApiKey): void {
  transaction.put('apiKeys', hash, key);
  transaction.put('apiKeyHashes', [key.userId, key.revokedAt === null ? key.id : -key.id], hash);
}
