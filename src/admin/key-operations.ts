/** The operations that make an API key for a user, and list a user's sessions. */
import { findUser } from '../auth/accounts.js';
import { createApiKey } from '../auth/api-key.js';
import { isMoving } from '../auth/moving.js';
import { createKeyRequestReader, type KeyRequestFault } from '../auth/api-key-request.js';
import type { Session } from '../model/records.js';
import { walk } from '../store/walk.js';
import { type Operation, pause, type Refusal } from './operation.js';
import type { RequestOf } from './requests.js';

/** A session without what could be used to log in. */
export type ShownSession = Pick<Session, 'createdAt' | 'expiresAt'>;

const rowsPerTurn = 64;

export const keyOperations = {
  'key.add': {
    async run({ store, clock, settings, trail }, { email, ...fields }) {
      const user = findUser(store, email);
      if (user === undefined) return { refused: 'user_not_found', email };
      const now = clock.now();
      const request = createKeyRequestReader(settings.limits)(fields, now);
      if ('code' in request) return refusalOf(request);
      const activeMax = settings.limits.activeKeysPerUserMax;
      const { userId } = user;
      // Its deletion may be on the way to the disk.
      const created = await createApiKey(store, { ...request, user, activeMax, now }, (reader) =>
        reader.get('users', userId) === undefined ? 'user_not_found' : undefined,
      );
      if (created === 'user_not_found') return { refused: created, email };
      if (typeof created === 'string') return { refused: created };
      const origin = { traceId: undefined, clientAddress: undefined, by: 'operator' } as const;
      trail.note('key_made', { ...origin, userId, keyId: created.key.id });
      const moving = isMoving(store.get('users', userId));
      return { key: created.key, secret: created.secret, email: user.email, isMoving: moving };
    },
  },
  'session.list': {
    hasRows: true,
    async run({ store, clock }, { email }, rows) {
      const user = findUser(store, email);
      if (user === undefined) return { refused: 'user_not_found', email };
      let read = 0;
      for (const { record } of walk(store, 'sessions')) {
        if (++read % rowsPerTurn === 0) await pause();
        const { userId, generation, createdAt, expiresAt } = record;
        const isValid = generation === user.sessionGeneration && expiresAt > clock.now();
        if (userId !== user.userId || !isValid) continue;
        if (!(await rows.send({ createdAt, expiresAt } satisfies ShownSession))) break;
      }
      return { email: user.email };
    },
  },
} as const satisfies Operations;

type KeyOperation = 'key.add' | 'session.list';
type Operations = { readonly [N in KeyOperation]: Operation<RequestOf<N>> };

function refusalOf({ code, details = [] }: KeyRequestFault): Refusal {
  return code === 'invalid_limits' ? { refused: code, errors: details } : { refused: code };
}
