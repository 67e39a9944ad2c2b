/**
 * Every collection of the store: its key and its record. Keys that begin with a userId keep what
 * users own apart: a look-up cannot reach another user's record, and a user can be moved whole.
 * Raise both formats whenever a key or a record changes its meaning.
 */
import type { Execution, Fill } from '../model/execution.js';
import type {
  ApiKey,
  CancelAfterRecord,
  CancelAllRecord,
  IdempotencyRecord,
  Session,
  SignalRequest,
  SourceRecord,
  Switches,
  User,
} from '../model/records.js';

export const storeFormat = 2;
/** Of keys and records alone, as in the file of an exported user. */
export const recordFormat = 1;

export interface Layout {
  /**
   * `format` → the store's format; `log:id` and `log:position` → the log that this is the index of, and how far;
   * `unknown:listed` → 1 once `unknownOrders` is complete; `nextKeyId` → the next API key's id; `sweep:idempotency` →
   * Unix milliseconds up to which the sweep has been; `purgeKeyOf(userId)` → Unix milliseconds; `importKeyOf(userId)` →
   * Unix milliseconds of its begin; `probe` → Unix milliseconds of the last write that was made to see whether the disk
   * takes one.
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
  /** [userId, executionId, number from 0 in 8 digits]: fills that the execution's record does not list. Each is written once. */
  fills: { key: [string, string, string]; record: Fill };
  /** [userId, executionId] of the final executions that are unknown → Unix milliseconds of their last change. */
  unknownOrders: { key: [string, string]; record: number };
  /** [userId, ULID of the acceptance] → Idempotency-Key of a cancel or of a cancel-all, so that the sweep finds its record. */
  cancelKeys: { key: [string, string]; record: string };
  /** [userId, cancelAllId], while what it decided is not applied to all of its orders. */
  cancelAlls: { key: [string, string]; record: CancelAllRecord };
  /** [userId, id of the API key in decimal]. A move to another gateway leaves it behind, disarmed: keys get new ids there. */
  cancelAfters: { key: [string, string]; record: CancelAfterRecord };
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

/** The `meta` key of an import that is not complete: its rows are stored, the user is not. */
export function importKeyOf(userId: string): string {
  return `${importPrefix}${userId}`;
}
export const importPrefix = 'import:';

/** The range of `meta` keys with the prefix: `;` is the character after `:`. */
export function metaRange(prefix: typeof purgePrefix | typeof importPrefix) {
  return { start: prefix, end: `${prefix.slice(0, -1)};` };
}

interface CollectionTraits<C extends Collection> {
  /** Its number in the log, for ever. */
  readonly number: number;
  /** Whether the first part of its keys is the userId. */
  readonly ownedByKey: KeyOf<C> extends [string, ...unknown[]] ? true : false;
  /** Its place in the file of an exported user; null where it is not exported. */
  readonly exported: number | null;
  /** Its place when a deleted user's rows are purged; null where the purge has nothing to remove. */
  readonly purged: KeyOf<C> extends [string, ...unknown[]] ? number | null : null;
}

/** The order of the rows is the order in which the doctor walks them. */
// oxfmt-ignore
export const collectionTraits = {
  meta:            { number: 1,  ownedByKey: false, exported: null, purged: null },
  users:           { number: 2,  ownedByKey: false, exported: 11,   purged: null },
  emails:          { number: 3,  ownedByKey: false, exported: null, purged: null },
  apiKeys:         { number: 4,  ownedByKey: false, exported: 12,   purged: null },
  apiKeyHashes:    { number: 5,  ownedByKey: true,  exported: null, purged: null },
  apiKeyUses:      { number: 6,  ownedByKey: false, exported: 13,   purged: null },
  sessions:        { number: 7,  ownedByKey: false, exported: 14,   purged: null },
  switches:        { number: 8,  ownedByKey: false, exported: null, purged: null },
  idempotency:     { number: 9,  ownedByKey: true,  exported: 3,    purged: 6 },
  signalIds:       { number: 10, ownedByKey: true,  exported: 2,    purged: 7 },
  requests:        { number: 11, ownedByKey: true,  exported: 1,    purged: 11 },
  openExecutions:  { number: 12, ownedByKey: true,  exported: 6,    purged: 1 },
  finalExecutions: { number: 13, ownedByKey: true,  exported: 7,    purged: 2 },
  fills:           { number: 14, ownedByKey: true,  exported: 8,    purged: 3 },
  unknownOrders:   { number: 15, ownedByKey: true,  exported: 9,    purged: 4 },
  cancelKeys:      { number: 16, ownedByKey: true,  exported: 4,    purged: 5 },
  cancelAlls:      { number: 17, ownedByKey: true,  exported: 5,    purged: 10 },
  cancelAfters:    { number: 18, ownedByKey: true,  exported: null, purged: 8 },
  sources:         { number: 19, ownedByKey: true,  exported: 10,   purged: 9 },
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
