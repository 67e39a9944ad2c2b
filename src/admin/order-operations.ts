/** Operations on the orders of a user. */
import { findUser } from '../auth/accounts.js';
import { isMoving } from '../auth/moving.js';
import { createOrderFilterReader, matches } from '../signals/order-filter.js';
import { byOperator, shown, userNotFound } from './account-operations.js';
import type { OperationContext, Operations, Refusal } from './operation.js';
import type { RequestOf } from './requests.js';

export const orderOperations = {
  'user.cancel-all': {
    refuse: refuseFilter,
    async run({ store, effects, trail }, { email, filter }) {
      const user = findUser(store, email);
      if (user === undefined) return userNotFound(email);
      // An export under way would not notice the change, and its file would lack it.
      if (isMoving(user)) return { refused: 'user_moving', email };
      const { userId } = user;
      const order = {
        userId,
        isMeant: matches.bind(undefined, filter),
        cause: 'cancelled_by_operator',
      } as const;
      const result = await effects.cancelOrders(order);
      const { cancelAllId, matched } = result.cancelled;
      trail.note('cancel_all', {
        ...byOperator,
        cancelAllId,
        userId,
        keyId: undefined,
        matched,
      });
      return { user: shown(user), ...result };
    },
  },
} as const satisfies Partial<Operations>;

function refuseFilter(
  { platforms }: OperationContext['settings'],
  { filter }: RequestOf<'user.cancel-all'>,
): Refusal | undefined {
  const tokens = new Set(platforms.map(({ token }) => token));
  const read = createOrderFilterReader(tokens).read(filter);
  const [violation] = Array.isArray(read) ? read : [];
  return violation === undefined
    ? undefined
    : { refused: 'invalid_filter', field: violation.field };
}
