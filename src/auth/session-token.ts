/**
 * The session token that login gives out for terminal plugins. Opaque and stored as a hash, so that
 * it can be ended one by one or, by the user's session generation, all at once.
 */
import { dayMs } from '../lib/durations.js';
import type { Session, User } from '../model/records.js';
import type { Reader, Store } from '../store/store.js';
import { hashSecret, looksLikeSecret, newSecret } from './secret-hash.js';

const tokenPrefix = 'sbs_';

/**
 * 30 days. A plugin runs unattended on a trading desk and logs in again only when it must; ending
 * sessions sooner would lose signals at night, and `session revoke` ends a stolen one at once.
 */
export const sessionLifetimeMs = 30 * dayMs;

/** @returns the token, once it is on disk; it exists nowhere else from here on. */
export async function createSession(
  store: Store,
  user: User,
  now: number,
  lifetimeMs: number,
): Promise<string> {
  const token = newSecret(tokenPrefix);
  const session: Session = {
    userId: user.userId,
    generation: user.sessionGeneration,
    createdAt: now,
    expiresAt: now + lifetimeMs,
  };
  await store.write((batch) => batch.put('sessions', hashSecret(token), session));
  return token;
}

/** @returns undefined for whatever must be answered with a 401. */
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

/** The session with this hash, while it is valid: for whoever looks again at what it has opened. */
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
