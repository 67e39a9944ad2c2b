/** `signalbox user list`: every user, in the order of creation. */
import type { Command } from 'commander';
import { listUsers } from '../auth/accounts.js';
import { columns } from './columns.js';
import { describeCommand, type SharedOptions } from './command.js';
import { onStore } from './on-store.js';
import { toUserView, userHeadings, userRow } from './user-text.js';

export function userListCommand(): Command {
  return describeCommand({
    usage: 'list',
    summary: 'list all users',
    description: 'Lists all users in the order of creation, with plan and state.',
    examples: ['signalbox user list', 'signalbox user list --json'],
  }).action((options: SharedOptions) =>
    onStore(options, ({ store }) => {
      const users = listUsers(store).map(toUserView);
      const text =
        users.length === 0
          ? 'There are no users. Make one with "signalbox user add EMAIL --plan PLAN".'
          : columns([userHeadings, ...users.map(userRow)]);
      return { ok: true, json: users, text };
    }),
  );
}
