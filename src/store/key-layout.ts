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
 * The `meta` key under which whoever deletes a user notes, in the same transaction, when that was.
 * The sweep then removes, slice by slice, what the user leaves in the collections whose keys begin
 * with the userId, executions and sources included; `users`, `emails`, API keys and sessions go at
 * once, with the deletion.
 */
export function purgeKeyOf(userId: string): string {
  return `${purgePrefix}${userId}`;
}
export const purgePrefix = 'purge:';

/** Before the userId of whose import is not complete: its rows are there, the user is not. */
export const importPrefix = 'import:';

const everyCollection: Record<Collection, true> = {
  meta: true,
  users: true,
  emails: true,
  apiKeys: true,
  apiKeyHashes: true,
  apiKeyUses: true,
  sessions: true,
  switches: true,
  idempotency: true,
  signalIds: true,
  requests: true,
  openExecutions: true,
  finalExecutions: true,
  sources: true,
};
export const collections = Object.keys(everyCollection) as Collection[];
