/**
 * Public API keys: made, checked, listed, revoked. The record's store key is the hash of the secret, so a
 * request costs one get for the key and one for its owner, and every change takes effect at the next request.
 * The index keeps a user's revoked keys under the negative id, so that listing and counting do not read them.
 */
import { assert } from '../lib/assert.js';
import { nextTurn } from '../lib/turn.js';
import type { ApiKey, KeyLimits, User } from '../model/records.js';
import type { KeyOf } from '../store/key-layout.js';
import type { Reader, Store, Writer } from '../store/store.js';
import { walk } from '../store/walk.js';
import type { Scope } from '../model/scopes.js';
import { stopping } from './brakes.js';
import { hashSecret, looksLikeSecret, newSecret } from './secret-hash.js';

const secretPrefix = 'svc_api_';
/** Characters of the random part that a list shows: enough to tell keys apart, while 220 bits stay secret. */
const shownCharacters = 6;

/** Expired keys that a user may keep, as a list reads them all. A new key revokes the oldest beyond. */
export const expiredKeysMax = 200;
/** Most expired keys that a new key revokes: a user may have many from an earlier version. */
const retiredPerKeyMax = 20;
const usersPerTurn = 64;

/** An API key and the user that it belongs to. */
export interface KeyOwner {
  readonly user: User;
  readonly key: ApiKey;
}

/** On the hot path of `/api/v1/*`. @returns undefined if the answer must be a 401. */
export function authenticateApiKey(
  reader: Reader,
  secret: string,
  now: number,
): KeyOwner | undefined {
  if (!looksLikeSecret(secret, secretPrefix)) return undefined;
  return activeKey(reader, hashSecret(secret), now);
}

/** @returns the key with this id and its owner; undefined unless it is active. */
export function findActiveKey(
  reader: Reader,
  userId: string,
  id: number,
  now: number,
): KeyOwner | undefined {
  const hash = reader.get('apiKeyHashes', [userId, id]);
  return hash === undefined ? undefined : activeKey(reader, hash, now);
}

function activeKey(reader: Reader, hash: string, now: number): KeyOwner | undefined {
  const key = reader.get('apiKeys', hash);
  if (key === undefined || key.revokedAt !== null || hasExpired(key, now)) return undefined;
  const user = reader.get('users', key.userId);
  return user === undefined ? undefined : { key, user };
}

export interface NewApiKey {
  readonly user: User;
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly expiresAt: number | null;
  readonly limits?: KeyLimits | null;
  readonly activeMax: number;
  readonly now: number;
}

/** Judges, in the transaction of a change, whether the caller may still make it. @returns undefined if so. */
type Refuse<Refusal> = (reader: Reader) => Refusal | undefined;
const refuseNothing = (): undefined => undefined;

/** @returns the key and its secret, which is stored nowhere. */
export async function createApiKey<Refusal extends string = never>(
  store: Store,
  request: NewApiKey,
  refuse: Refuse<Refusal> = refuseNothing,
): Promise<{ key: ApiKey; secret: string } | 'active_key_limit_reached' | NoInfer<Refusal>> {
  const { user, now } = request;
  const isFull = ({ active }: ListedKeys): boolean => active.length >= request.activeMax;
  // Checks before the transaction as well, so that a refusal does not hold up other commits.
  if (isFull(listed(store, user.userId, now))) return 'active_key_limit_reached';
  const secret = newSecret(secretPrefix);
  return store.transact((transaction) => {
    const refusal = refuse(transaction);
    if (refusal !== undefined) return refusal;
    const keys = listed(transaction, user.userId, now);
    if (isFull(keys)) return 'active_key_limit_reached';
    const excess = Math.max(0, keys.expired.length - expiredKeysMax);
    for (const { id } of keys.expired.slice(0, Math.min(excess, retiredPerKeyMax))) {
      revoke(transaction, user.userId, id, now);
    }
    const id = Number(transaction.get('meta', 'nextKeyId') ?? 1);
    const key: ApiKey = {
      id,
      userId: user.userId,
      name: request.name,
      displayPrefix: `${secret.slice(0, secretPrefix.length + shownCharacters)}...`,
      scopes: [...request.scopes].sort(),
      createdAt: now,
      expiresAt: request.expiresAt,
      revokedAt: null,
      limits: request.limits ?? null,
    };
    const hash = hashSecret(secret);
    transaction.put('meta', 'nextKeyId', id + 1);
    putApiKey(transaction, hash, key);
    return { key, secret };
  });
}

/** A user's keys that are not revoked, expired ones included, in the order of creation. */
export function listApiKeys(reader: Reader, userId: string): ApiKey[] {
  return reader
    .range('apiKeyHashes', { prefix: [userId], start: [userId, 1] })
    .map((entry) => reader.get('apiKeys', entry.record))
    .filter((key) => key !== undefined);
}

interface ListedKeys {
  readonly active: readonly ApiKey[];
  readonly expired: readonly ApiKey[];
}

function listed(reader: Reader, userId: string, now: number): ListedKeys {
  const keys = listApiKeys(reader, userId);
  return {
    active: keys.filter((key) => !hasExpired(key, now)),
    expired: keys.filter((key) => hasExpired(key, now)),
  };
}

/** @returns whether the user has such a key, revoked now or before. */
export async function revokeApiKey<Refusal extends string = never>(
  store: Store,
  userId: string,
  id: number,
  now: number,
  refuse: Refuse<Refusal> = refuseNothing,
): Promise<boolean | NoInfer<Refusal>> {
  if (!Number.isSafeInteger(id) || id < 1) return false;
  // Checks before the transaction as well, so that only a real change holds up other commits.
  if (store.get('apiKeyHashes', [userId, id]) === undefined) return wasRevoked(store, userId, id);
  return store.transact((transaction) => {
    const refusal = refuse(transaction);
    if (refusal !== undefined) return refusal;
    return revoke(transaction, userId, id, now) || wasRevoked(transaction, userId, id);
  }, stopping);
}

/** @returns false if there is no such key, or it is revoked. */
function revoke(transaction: Reader & Writer, userId: string, id: number, now: number): boolean {
  const hash = transaction.get('apiKeyHashes', [userId, id]);
  if (hash === undefined) return false;
  const key = transaction.get('apiKeys', hash);
  assert(key !== undefined, `API key ${id} is in the index but not in the store`);
  transaction.remove('apiKeyHashes', [userId, id]);
  putApiKey(transaction, hash, { ...key, revokedAt: now });
  return true;
}

/** Puts the key, and its place in the index. */
export function putApiKey(writer: Writer, hash: string, key: ApiKey): void {
  writer.put('apiKeys', hash, key);
  writer.put('apiKeyHashes', [key.userId, key.revokedAt === null ? key.id : -key.id], hash);
}

/** @param place the key's place in the index. */
export function removeApiKey(writer: Writer, place: KeyOf<'apiKeyHashes'>, hash: string): void {
  writer.remove('apiKeys', hash);
  writer.remove('apiKeyHashes', place);
  writer.remove('apiKeyUses', Math.abs(place[1]));
}

/** Whether the user has such a key, revoked or not. */
export function hasApiKey(reader: Reader, userId: string, id: number): boolean {
  return reader.get('apiKeyHashes', [userId, id]) !== undefined || wasRevoked(reader, userId, id);
}

/**
 * For the operator's commands. Asks for the key of each user, a few in each turn of the event loop: users keep a
 * thousand revoked keys each, and reading those of all would hold up everybody.
 */
export async function findApiKeyOwner(reader: Reader, id: number): Promise<string | undefined> {
  let asked = 0;
  for (const { key: userId } of walk(reader, 'users', {}, usersPerTurn)) {
    if (hasApiKey(reader, userId, id)) return userId;
    if (++asked % usersPerTurn === 0) await nextTurn();
  }
  return undefined;
}

export function hasExpired(key: ApiKey, now: number): boolean {
  return key.expiresAt !== null && key.expiresAt <= now;
}

function wasRevoked(reader: Reader, userId: string, id: number): boolean {
  return reader.get('apiKeyHashes', [userId, -id]) !== undefined;
}
