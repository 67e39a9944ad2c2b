/**
 * Issues and verifies session tokens for terminal plugins: opaque, stored as a hash. The user's session
 * generation revokes all sessions of the user at once.
 */
import { dayMs } from '../lib/durations.js';
import type { Session, User } from '../model/records.js';
import type { Reader, Store } from '../store/store.js';
import { hashSecret, looksLikeSecret, newSecret } from './secret-hash.js';

const tokenPrefix = 'sbs_';

/**
 * 30 days. Plugins run unattended: a shorter lifetime would lose signals until someone logs in again, and
 * `session revoke` ends a stolen session at once.
 */
export const sessionLifetimeMs = 30 * dayMs;

/**
 * @param refuse judges the right to a session in the transaction that makes it.
 * @returns the token, once the session is durable; the token itself is not stored.
 */
export async function createSession<Refusal extends object = never>(
  store: Store,
  user: User,
  now: number,
  lifetimeMs: number,
  refuse: (reader: Reader) => Refusal | undefined = () => undefined,
): Promise<string | NoInfer<Refusal>> {
  const token = newSecret(tokenPrefix);
  return store.transact((transaction) => {
    const refusal = refuse(transaction);
    if (refusal !== undefined) return refusal;
    const session: Session = {
      userId: user.userId,
      generation: (transaction.get('users', user.userId) ?? user).sessionGeneration,
      createdAt: now,
      expiresAt: now + lifetimeMs,
    };
    transaction.put('sessions', hashSecret(token), session);
    return token;
  });
}

/** @returns undefined when the response must be a 401. */
export function authenticateSession(
  reader: Reader,
  token: string,
  now: number,
): { user: User; session: Session; hash: string } | undefined {
  if (!looksLikeSecret(token, tokenPrefix)) return undefined;
  const hash = hashSecret(token);
  const valid = readSession(reader, hash, now);
  return valid === undefined ? undefined : { ...valid, hash };
}

/** @returns the valid session with this hash; also used to check open connections again. */
export function readSession(
  reader: Reader,
  hash: string,
  now: number,
): { user: User; session: Session } | undefined {
  const session = reader.get('sessions', hash);
  if (session === undefined || session.expiresAt <= now) return undefined;
  const user = reader.get('users', session.userId);
  return user?.sessionGeneration === session.generation ? { user, session } : undefined;
}
