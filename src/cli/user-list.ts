/** `signalbox user list`: every user, in the order of creation. */
import type { Command } from 'commander';
import type { ShownUser } from '../admin/account-operations.js';
import { columns } from '../lib/columns.js';
import { describeCommand, withSettings } from './command.js';
import type { Io } from './io.js';
import { operate } from './operate.js';
import { toUserView, userHeadings, userRow } from './user-text.js';

export function userListCommand(io: Io): Command {
  return describeCommand({
    usage: 'list',
    summary: 'list all users',
    description: 'Lists all users in the order of creation, with plan and state.',
    examples: ['signalbox user list', 'signalbox user list --json'],
  }).action(
    withSettings(io, (settings) =>
      operate(io, settings, 'user.list', {}, (_, received) => {
        const users = (received as ShownUser[]).map(toUserView);
        const text =
          users.length === 0
            ? 'There are no users. Make one with "signalbox user add EMAIL --plan PLAN".'
            : columns([userHeadings, ...users.map(userRow)]);
        return { ok: true, json: users, text };
      }),
    ),
  );
}
