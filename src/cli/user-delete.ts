/** `signalbox user delete`: the end of a user, at once. */
import type { Command } from 'commander';
import { deleteUser } from '../auth/accounts.js';
import { describeCommand, type SharedOptions } from './command.js';
import { onStore } from './on-store.js';
import { toUserView, userNotFound } from './user-text.js';

export function userDeleteCommand(): Command {
  return describeCommand({
    usage: 'delete <EMAIL>',
    summary: 'delete a user with all that it has',
    description:
      'Deletes a user at once and for good, without asking: API keys, logins and sessions stop ' +
      'working, connections of terminals are closed, and the gateway then removes the signals. ' +
      'Orders that a terminal already has are not touched. To stop signals only for a time, use ' +
      '"signalbox user set EMAIL --frozen true".',
    examples: ['signalbox user delete ann@example.com'],
  }).action((email: string, options: SharedOptions) =>
    onStore(options, async ({ store, clock }) => {
      const user = await deleteUser(store, email, clock.now());
      if (user === undefined) return userNotFound(email);
      return {
        ok: true,
        json: { deleted: toUserView(user) },
        text:
          `User ${user.email} is deleted, with its API keys and sessions. The gateway removes ` +
          'the signals that it leaves.',
      };
    }),
  );
}
