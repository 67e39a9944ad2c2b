/**
 * A user that is being moved to another gateway is suspended here: its signals and logins are refused,
 * and its terminals are told to reconnect later, when they reach the other gateway. The suspension ends
 * with the user's deletion, or with `user set --frozen false`, after which the user is as it was.
 */
import type { User } from '../model/records.js';

/** User tokens end, since a key made with one would not be part of the move; sessions stay valid. */
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

export function isMoving(user: User | undefined): boolean {
  return user?.moving !== undefined;
}

export interface StateChange {
  readonly frozen?: boolean | undefined;
  readonly confirmed?: boolean | undefined;
}

/** Changes a suspended user as it was before the suspension; `frozen: false` only ends the suspension. */
export function withState(user: User, { frozen, confirmed }: StateChange): User {
  if (user.moving === undefined) {
    return { ...user, frozen: frozen ?? user.frozen, confirmed: confirmed ?? user.confirmed };
  }
  const moving = {
    frozen: frozen === true || user.moving.frozen,
    confirmed: confirmed ?? user.moving.confirmed,
  };
  return frozen === false ? resumed({ ...user, moving }) : { ...user, moving };
}

/** @returns the user as it was before the suspension, and as it will be on the other gateway. */
export function resumed({ moving, ...user }: User): User {
  return moving === undefined ? user : { ...user, ...moving };
}
