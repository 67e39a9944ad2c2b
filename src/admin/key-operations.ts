/** Operations on a user's API keys and sessions. */
import { findUser, revokeKeyAsOperator, revokeSessions } from '../auth/accounts.js';
import { createApiKey, listApiKeys } from '../auth/api-key.js';
import { isMoving } from '../auth/moving.js';
import { createKeyRequestReader, type KeyRequestFault } from '../auth/api-key-request.js';
import type { Session } from '../model/records.js';
import { walk } from '../store/walk.js';
import { byOperator, shown, userNotFound } from './account-operations.js';
import { type Operations, pause, type Refusal } from './operation.js';

/** A session without what could be used to log in. */
export type ShownSession = Pick<Session, 'createdAt' | 'expiresAt'>;

const rowsPerTurn = 64;

export const keyOperations = {
  'key.add': {
    async run({ store, clock, settings, trail }, { email, ...fields }) {
      const user = findUser(store, email);
      if (user === undefined) return userNotFound(email);
      const now = clock.now();
      const request = createKeyRequestReader(settings.limits)(fields, now);
      if ('code' in request) return refusalOf(request);
      const activeMax = settings.limits.activeKeysPerUserMax;
      const { userId } = user;
      // The user's deletion may be under way.
      const created = await createApiKey(store, { ...request, user, activeMax, now }, (reader) =>
        reader.get('users', userId) === undefined ? 'user_not_found' : undefined,
      );
      if (created === 'user_not_found') return userNotFound(email);
      if (typeof created === 'string') return { refused: created };
      trail.note('key_made', { ...byOperator, userId, keyId: created.key.id });
      const moving = isMoving(store.get('users', userId));
      return { key: created.key, secret: created.secret, email: user.email, isMoving: moving };
    },
  },
  'key.list': {
    run({ store }, { email }) {
      const user = findUser(store, email);
      if (user === undefined) return userNotFound(email);
      const keys = listApiKeys(store, user.userId).map((key) => ({
        key,
        usedAt: store.get('apiKeyUses', key.id) ?? null,
      }));
      return { user: shown(user), keys };
    },
  },
  'key.revoke': {
    async run({ store, clock, effects, trail }, { id }) {
      const userId = await revokeKeyAsOperator(store, id, clock.now());
      if (userId === undefined) return { refused: 'key_not_found', id };
      trail.note('key_revoked', { ...byOperator, userId, keyId: id });
      effects.userChanged(userId);
      await effects.endUnsent(userId);
      const user = store.get('users', userId);
      return { id, userId, email: user?.email ?? null, isMoving: isMoving(user) };
    },
  },
  'session.list': {
    hasRows: true,
    async run({ store, clock }, { email }, rows) {
      const user = findUser(store, email);
      if (user === undefined) return userNotFound(email);
      let read = 0;
      for (const { record } of walk(store, 'sessions', {}, rowsPerTurn)) {
        if (++read % rowsPerTurn === 0) await pause();
        const { userId, generation, createdAt, expiresAt } = record;
        const isValid = generation === user.sessionGeneration && expiresAt > clock.now();
        if (userId !== user.userId || !isValid) continue;
        if (!(await rows.send({ createdAt, expiresAt } satisfies ShownSession))) break;
      }
      return { email: user.email };
    },
  },
  'session.revoke': {
    async run({ store, effects, trail }, { email }) {
      const user = await revokeSessions(store, email);
      if (user === undefined) return userNotFound(email);
      trail.note('session_revoked', { userId: user.userId, by: 'operator' });
      effects.userChanged(user.userId);
      return { user: shown(user), isMoving: isMoving(user) };
    },
  },
} as const satisfies Partial<Operations>;

function refusalOf({ code, details = [] }: KeyRequestFault): Refusal {
  return code === 'invalid_limits' ? { refused: code, errors: details } : { refused: code };
}
