/** How the commands show a user: a record for programs, a row for people, never a secret. */
import { toIsoTime } from '../lib/clock.js';
import type { User } from '../model/records.js';
import type { Outcome } from './command.js';
import { refused } from './command.js';

export interface UserView {
  readonly email: string;
  readonly userId: string;
  readonly plan: string;
  readonly confirmed: boolean;
  readonly frozen: boolean;
  readonly createdAt: string;
}

export function toUserView(user: User): UserView {
  const { email, userId, plan, confirmed, frozen, createdAt } = user;
  return { email, userId, plan, confirmed, frozen, createdAt: toIsoTime(createdAt) };
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

export function userNotFound(email: string): Outcome {
  return refused(
    'user_not_found',
    `There is no user ${JSON.stringify(email)}. "signalbox user list" shows who there is.`,
  );
}

export function unknownPlan(plan: string, known: readonly string[]): Outcome {
  return refused(
    'unknown_plan',
    `There is no plan ${JSON.stringify(plan)}. The plans are ${known.join(', ')}; more can be ` +
      'defined under "plans" in the config file.',
  );
}
