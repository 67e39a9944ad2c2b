/** Operations on users, and on the switches of the Public API and of trading. */
import { halt, resumeTrading, stopping } from '../auth/brakes.js';
import { addUser, deleteUser, findUser, setPublicApi, setUser } from '../auth/accounts.js';
import { listApiKeys } from '../auth/api-key.js';
import { emailKey } from '../auth/email.js';
import { isMoving } from '../auth/moving.js';
import type { User } from '../model/records.js';
import { walk } from '../store/walk.js';
import { type OperationContext, type Operations, pause, type Refusal } from './operation.js';

/** A user without what could be used to log in. */
export type ShownUser = Pick<
  User,
  'email' | 'userId' | 'plan' | 'confirmed' | 'frozen' | 'createdAt'
>;

/** A command has no trace id and no address; the trail has a line of its own for the command. */
export const byOperator = { traceId: undefined, clientAddress: undefined, by: 'operator' } as const;

const rowsPerTurn = 256;

export const accountOperations = {
  'user.add': {
    refuse: refusePlan,
    async run({ store, ids, clock }, request) {
      const user = await addUser(store, ids, { ...request, now: clock.now() });
      if (typeof user === 'string') return { refused: user, email: request.email };
      return { user: shown(user) };
    },
  },
  'user.set': {
    refuse: refusePlan,
    async run(context, { email, ...change }) {
      const { store, effects } = context;
      const before = findUser(store, email);
      if (change.frozen === true) stopAgain(context, email);
      // Also for a user that is not frozen: the commit of its freeze may be under way.
      if (change.frozen === false && before !== undefined && !(await mayEnd(context, before))) {
        return { refused: 'stopped_again' };
      }
      const user = await setUser(store, email, change);
      if (user === undefined) return userNotFound(email);
      effects.userChanged(user.userId);
      if (user.frozen) await effects.endUnsent(user.userId);
      return { user: shown(user), isMoving: isMoving(user) };
    },
  },
  'user.list': {
    hasRows: true,
    async run({ store }, _request, rows) {
      let count = 0;
      for (const { record } of walk(store, 'users', {}, rowsPerTurn)) {
        if (!(await rows.send(shown(record)))) break;
        if (++count % rowsPerTurn === 0) await pause();
      }
      return { count };
    },
  },
  'user.show': {
    run({ store, settings }, { email }) {
      const user = findUser(store, email);
      if (user === undefined) return userNotFound(email);
      return {
        user: shown(user),
        isMoving: isMoving(user),
        isPlanKnown: Object.hasOwn(settings.plans, user.plan),
        apiKeys: listApiKeys(store, user.userId).length,
        terminals: store
          .range('sources', { prefix: [user.userId] })
          .map(({ record: { platform, instanceId, accountName, lastSeenAt } }) => ({
            platform,
            instanceId,
            accountName,
            lastSeenAt,
          })),
      };
    },
  },
  'user.delete': {
    async run(context, { email }) {
      const { store, clock, effects } = context;
      // A waiting end of a freeze or move must not apply to another user who is imported under this email.
      stopAgain(context, email);
      const user = await deleteUser(store, email, clock.now());
      if (user === undefined) return userNotFound(email);
      effects.userChanged(user.userId);
      return { user: shown(user) };
    },
  },
  'api.set': {
    async run({ store, effects }, { enabled }) {
      await setPublicApi(store, enabled);
      await effects.publicApiChanged();
      return { enabled };
    },
  },
  'trading.halt': {
    async run(context, { reason = null }) {
      const { store, clock, effects, trail } = context;
      stopAgain(context, undefined);
      const now = clock.now();
      const state = await store.transact((transaction) => halt(transaction, reason, now), stopping);
      trail.note('halted', { reason: state.reason ?? undefined });
      await effects.endUnsent();
      return state;
    },
  },
  'trading.resume': {
    async run(context) {
      const { store, trail } = context;
      if (!(await mayEnd(context, undefined))) return { refused: 'stopped_again' };
      const state = await store.transact(resumeTrading);
      trail.note('resumed', {});
      return state;
    },
  },
} as const satisfies Partial<Operations>;

export function refusePlan(
  { plans }: OperationContext['settings'],
  { plan }: { readonly plan?: string },
): Refusal | undefined {
  if (plan === undefined || Object.hasOwn(plans, plan)) return undefined;
  return { refused: 'unknown_plan', plan, known: Object.keys(plans) };
}

type StopContext = Pick<OperationContext, 'effects' | 'ending'>;

/**
 * Prepares the end of a stop: what the stop has denied is on disk first, and stays denied after a kill.
 * @returns false when the same stop was asked for again meanwhile.
 */
async function mayEnd({ effects, ending }: StopContext, user: User | undefined) {
  const end = { emailKey: user && emailKey(user.email) };
  ending.add(end);
  try {
    // A stop whose commit is under way is in force first: it would deny only a part once it is over.
    await effects.settled();
    await effects.endUnsent(user?.userId);
    await effects.settled();
    return ending.has(end);
  } finally {
    ending.delete(end);
  }
}

/** Calls off the ends under way, before a stop is written: an end whose write has begun is undone by the stop. */
export function stopAgain(
  { ending }: Pick<StopContext, 'ending'>,
  email: string | undefined,
): void {
  const key = email === undefined ? undefined : emailKey(email);
  for (const end of ending) if (end.emailKey === key) ending.delete(end);
}

export function userNotFound(email: string) {
  return { refused: 'user_not_found', email } as const;
}

export function shown({ email, userId, plan, confirmed, frozen, createdAt }: User): ShownUser {
  return { email, userId, plan, confirmed, frozen, createdAt };
}
