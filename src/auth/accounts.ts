/**
 * What an operator does to users. Each change is one transaction; the caller ends what a running gateway has
 * open for the user. Users are named by email; a change returns undefined if there is no such user.
 */
import type { IdSource } from '../lib/ids.js';
import { purgeKeyOf } from '../store/key-layout.js';
import type { Switches, User } from '../model/records.js';
import type { Reader, Store, Writer } from '../store/store.js';
import { stopping } from './brakes.js';
import { findApiKeyOwner, removeApiKey, revokeApiKey } from './api-key.js';
import { emailKey, isEmail } from './email.js';
import { suspended, withState, type StateChange } from './moving.js';

export interface NewUser {
  readonly email: string;
  readonly plan: string;
  readonly passwordHash: string;
  readonly confirmed: boolean;
  readonly now: number;
}

/** A field that is absent or undefined stays as it is. */
export interface UserChange extends StateChange {
  readonly plan?: string | undefined;
  /** Ends every user token and session of the user, since the old password may be known to others. */
  readonly passwordHash?: string | undefined;
}

export async function addUser(
  store: Store,
  ids: IdSource,
  request: NewUser,
): Promise<User | 'invalid_email' | 'email_taken'> {
  const email = request.email.trim();
  if (!isEmail(email)) return 'invalid_email';
  return store.transact((transaction) => {
    if (transaction.get('emails', emailKey(email)) !== undefined) return 'email_taken';
    const user: User = {
      userId: `usr_${ids.ulid()}`,
      email,
      plan: request.plan,
      passwordHash: request.passwordHash,
      confirmed: request.confirmed,
      frozen: false,
      tokenGeneration: 1,
      sessionGeneration: 1,
      createdAt: request.now,
    };
    transaction.put('emails', emailKey(email), user.userId);
    return putUser(transaction, user);
  });
}

export async function setUser(
  store: Store,
  email: string,
  change: UserChange,
): Promise<User | undefined> {
  const options = change.frozen === true ? stopping : undefined;
  return store.transact((transaction) => {
    const found = findUser(transaction, email);
    if (found === undefined) return undefined;
    const user = withState(found, change);
    const raised = change.passwordHash === undefined ? 0 : 1;
    return putUser(transaction, {
      ...user,
      plan: change.plan ?? user.plan,
      passwordHash: change.passwordHash ?? user.passwordHash,
      tokenGeneration: user.tokenGeneration + raised,
      sessionGeneration: user.sessionGeneration + raised,
    });
  }, options);
}

/** Ends the user's plugin sessions. User tokens stay valid: they give no access to a terminal. */
export async function revokeSessions(store: Store, email: string): Promise<User | undefined> {
  return store.transact((transaction) => {
    const user = findUser(transaction, email);
    if (user === undefined) return undefined;
    return putUser(transaction, { ...user, sessionGeneration: user.sessionGeneration + 1 });
  }, stopping);
}

/** Suspends the user for its move to another gateway, where it is resumed as it was before. */
export async function suspendUser(store: Store, email: string): Promise<User | undefined> {
  return store.transact((transaction) => {
    const user = findUser(transaction, email);
    return user === undefined ? undefined : putUser(transaction, suspended(user));
  });
}

/**
 * Removes the user, the email, keys and sources, and leaves a mark by which the sweep removes the rest, which
 * may be too much for one transaction. Sessions are invalid without their user, and are removed when they
 * expire.
 * @returns the user as it was.
 */
export async function deleteUser(
  store: Store,
  email: string,
  now: number,
): Promise<User | undefined> {
  return store.transact((transaction) => {
    const user = findUser(transaction, email);
    if (user === undefined) return undefined;
    const prefix = [user.userId];
    transaction.remove('users', user.userId);
    transaction.remove('emails', emailKey(user.email));
    for (const { key, record: hash } of transaction.range('apiKeyHashes', { prefix })) {
      removeApiKey(transaction, key, hash);
    }
    for (const { key } of transaction.range('sources', { prefix })) {
      transaction.remove('sources', key);
    }
    transaction.put('meta', purgeKeyOf(user.userId), now);
    return user;
  });
}

/** Whether the user was deleted, and some of its rows may be left. */
export function isDeleted(reader: Reader, userId: string): boolean {
  return reader.get('meta', purgeKeyOf(userId)) !== undefined;
}

/** @returns the owner's userId; undefined when there is no such key. */
export async function revokeKeyAsOperator(
  store: Store,
  id: number,
  now: number,
): Promise<string | undefined> {
  const userId = await findApiKeyOwner(store, id);
  if (userId === undefined) return undefined;
  return (await revokeApiKey(store, userId, id, now)) ? userId : undefined;
}

export function findUser(reader: Reader, email: string): User | undefined {
  const userId = reader.get('emails', emailKey(email));
  return userId === undefined ? undefined : reader.get('users', userId);
}

/** The gateway reads the switch at every request. */
export async function setPublicApi(store: Store, enabled: boolean): Promise<void> {
  await store.transact((transaction) => {
    transaction.put('switches', 'publicApi', { enabled });
  }, stopping);
}

export function isPublicApiEnabled(reader: Reader): boolean {
  const known = reader.get('switches', 'publicApi') as Switches['publicApi'] | undefined;
  return known?.enabled ?? true;
}

function putUser(transaction: Reader & Writer, user: User): User {
  transaction.put('users', user.userId, user);
  return user;
}
