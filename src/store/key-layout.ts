/**
 * Every collection of the store: its key and its record. Keys that begin with a userId keep what
 * users own apart: a look-up cannot reach another user's record, and a user can be moved whole.
 * Raise `storeFormat` whenever a key or a record changes its meaning.
 */
import type {
  ApiKey,
  Execution,
  IdempotencyRecord,
  Session,
  SignalRequest,
  SourceRecord,
  Switches,
  User,
} from '../model/records.js';

export const storeFormat = 1;

export interface Layout {
  /**
   * `format` → the store's format; `nextKeyId` → the next API key's id; `sweep:idempotency` → Unix milliseconds up to which the sweep has been;
   * `purgeKeyOf(userId)` → Unix milliseconds; `import:<userId>` → Unix milliseconds of its begin.
   */
  meta: { key: string; record: number | string };
  users: { key: string; record: User };
  /** Lower-case email → userId. */
  emails: { key: string; record: string };
  /** Hash of the secret (base64url) → key. */
  apiKeys: { key: string; record: ApiKey };
  /** [userId, id] → hash of the secret; [userId, -id] once the key is revoked. */
  apiKeyHashes: { key: [string, number]; record: string };
  /** id → Unix milliseconds of the last use, written now and then. */
  apiKeyUses: { key: number; record: number };
  /** Hash of the token (base64url) → session. */
  sessions: { key: string; record: Session };
  switches: { key: keyof Switches; record: Switches[keyof Switches] };
  /** [userId, Idempotency-Key] */
  idempotency: { key: [string, string]; record: IdempotencyRecord };
  /** [userId, signalId] → requestId. */
  signalIds: { key: [string, string]; record: string };
  /** [userId, requestId]: a user's requests in the order of acceptance. */
  requests: { key: [string, string]; record: SignalRequest };
  /** [userId, executionId], while it or its cancel is not final: all that a start has to read. */
  openExecutions: { key: [string, string]; record: Execution };
  /** [userId, executionId], once both are final. */
  finalExecutions: { key: [string, string]; record: Execution };
  /** [userId, platform, instanceId, accountName] */
  sources: { key: [string, string, string, string]; record: SourceRecord };
}

export type Collection = keyof Layout;
export type KeyOf<C extends Collection> = Layout[C]['key'];
export type RecordOf<C extends Collection> = Layout[C]['record'];

/**
 * The `meta` key that a user's deletion writes, with its time, in the same transaction. The sweep then
 * removes the user's rows from the collections that are `purged`, slice by slice; `users`, `emails`
 * and API keys are removed by the deletion itself.
 */
export function purgeKeyOf(userId: string): string {
  return `${purgePrefix}${userId}`;
}
export const purgePrefix = 'purge:';

/** Before the userId of an import that is not complete: its rows are stored, the user is not. */
export const importPrefix = 'import:';

interface CollectionTraits<C extends Collection> {
  /** Whether the first part of its keys is the userId. */
  readonly ownedByKey: KeyOf<C> extends [string, ...unknown[]] ? true : false;
  /** Its place in the file of an exported user; null where it is not exported. */
  readonly exported: number | null;
  /** Its place when a deleted user's rows are purged; null where the purge has nothing to remove. */
  readonly purged: KeyOf<C> extends [string, ...unknown[]] ? number | null : null;
}

/** The order of the rows is the order in which the doctor walks them. */
// prettier-ignore
export const collectionTraits = {
  meta:            { ownedByKey: false, exported: null, purged: null },
  users:           { ownedByKey: false, exported: 7,    purged: null },
  emails:          { ownedByKey: false, exported: null, purged: null },
  apiKeys:         { ownedByKey: false, exported: 8,    purged: null },
  apiKeyHashes:    { ownedByKey: true,  exported: null, purged: null },
  apiKeyUses:      { ownedByKey: false, exported: 9,    purged: null },
  sessions:        { ownedByKey: false, exported: 10,   purged: null },
  switches:        { ownedByKey: false, exported: null, purged: null },
  idempotency:     { ownedByKey: true,  exported: 3,    purged: 3 },
  signalIds:       { ownedByKey: true,  exported: 2,    purged: 4 },
  requests:        { ownedByKey: true,  exported: 1,    purged: 6 },
  openExecutions:  { ownedByKey: true,  exported: 4,    purged: 1 },
  finalExecutions: { ownedByKey: true,  exported: 5,    purged: 2 },
  sources:         { ownedByKey: true,  exported: 6,    purged: 5 },
} as const satisfies { readonly [C in Collection]: CollectionTraits<C> };

export const collections = Object.keys(collectionTraits) as Collection[];

export type CollectionsWith<T extends keyof CollectionTraits<Collection>> = {
  [C in Collection]: (typeof collectionTraits)[C][T] extends null | false ? never : C;
}[Collection];

/** The collections that have a trait, in the order that the trait gives. */
export function collectionsWith<T extends keyof CollectionTraits<Collection>>(
  trait: T,
): readonly CollectionsWith<T>[] {
  const placeOf = (collection: Collection): number => Number(collectionTraits[collection][trait]);
  return collections
    .filter((collection) => placeOf(collection) > 0)
    .sort((a, b) => placeOf(a) - placeOf(b)) as CollectionsWith<T>[];
}
