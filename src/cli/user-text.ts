/** How the commands show a user: a record for programs, a row for people, never a secret. */
import { toIsoTime } from '../lib/clock.js';
import type { ShownUser } from '../admin/account-operations.js';

interface UserView extends Omit<ShownUser, 'createdAt'> {
  readonly createdAt: string;
}

export function toUserView({ createdAt, ...user }: ShownUser): UserView {
  return { ...user, createdAt: toIsoTime(createdAt) };
}

export const userHeadings = ['EMAIL', 'PLAN', 'CONFIRMED', 'FROZEN', 'CREATED', 'USER'];

export function userRow(user: UserView): string[] {
  return [
    user.email,
    user.plan,
    yesOrNo(user.confirmed),
    yesOrNo(user.frozen),
    user.createdAt,
    user.userId,
  ];
}

export function yesOrNo(value: boolean): string {
  return value ? 'yes' : 'no';
}

/** Follows the text of a change. */
export function movingText(isMoving: boolean): string {
  return isMoving
    ? ' The user is being moved: a file exported before does not have this change; export the user again.'
    : '';
}
