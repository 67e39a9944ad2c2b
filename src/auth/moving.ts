/**
 * A user that is being moved to another gateway stands still here: no signal is accepted, nobody logs
 * in, and its terminals are told to come back later, by when they reach the other gateway. Ended by
 * the user's deletion, or taken back by setting it not frozen.
 */
import type { User } from '../model/records.js';

/** User tokens end, since keys made with them from now on would be left behind; sessions stay good. */
export function suspended(user: User): User {
  if (user.moving !== undefined) return user;
  const { frozen, confirmed, tokenGeneration } = user;
  return {
    ...user,
    frozen: true,
    confirmed: false,
    tokenGeneration: tokenGeneration + 1,
    moving: { frozen, confirmed },
  };
}

/** As it was before, and as it is on the gateway that it moves to. */
export function resumed({ moving, ...user }: User): User {
  return moving === undefined ? user : { ...user, ...moving };
}
