/** `signalbox user delete`: the end of a user, at once. */
import type { Command } from 'commander';
import { describeCommand, finish, settingsFor, type SharedOptions } from './command.js';
import type { Io } from './io.js';
import { operate } from './operate.js';
import { toUserView } from './user-text.js';

export function userDeleteCommand(io: Io): Command {
  return describeCommand({
    usage: 'delete <EMAIL>',
    summary: 'delete a user with all that it has',
    description:
      'Deletes a user at once and for good, without asking: API keys, logins and sessions stop ' +
      'working, connections of terminals are closed, and the gateway then removes the signals. ' +
      'Orders that a terminal already has are not touched. To stop signals only for a time, use ' +
      '"signalbox user set EMAIL --frozen true".',
    examples: ['signalbox user delete ann@example.com'],
  }).action(async (email: string, options: SharedOptions) => {
    const settings = settingsFor(io, options);
    if (settings === undefined) return;
    const outcome = await operate(io, settings, 'user.delete', { email }, ({ user }) => ({
      ok: true,
      json: { deleted: toUserView(user) },
      text:
        `User ${user.email} is deleted, with its API keys and sessions. The gateway removes ` +
        'the signals that it leaves.',
    }));
    finish(io, outcome, options);
  });
}
