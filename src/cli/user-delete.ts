/** `signalbox user delete`: the end of a user, at once. */
import type { Command } from 'commander';
import { createInterface } from 'node:readline';
import { describeCommand, refused, type SharedOptions, withSettings } from './command.js';
import type { Io } from './io.js';
import { operate } from './operate.js';
import { toUserView } from './user-text.js';

interface Options extends SharedOptions {
  readonly yes?: boolean;
}

export function userDeleteCommand(io: Io): Command {
  return describeCommand({
    usage: 'delete <EMAIL>',
    summary: 'delete a user with its keys and signals',
    description:
      'Deletes a user at once and for good: API keys, logins and sessions stop ' +
      'working, connections of terminals are closed, and the gateway then removes the signals. ' +
      'Orders that a terminal already has are not touched. To stop signals only for a time, use ' +
      '"signalbox user set EMAIL --frozen true".',
    examples: [
      'signalbox user delete ann@example.com',
      'signalbox user delete ann@example.com --yes',
    ],
  })
    .option('--yes', 'do not ask; without a terminal, as in a script, the command never asks')
    .action(
      withSettings(io, async (settings, email: string, options: Options) => {
        if (options.yes !== true && io.stdin().isTTY === true) {
          const found = await operate(io, settings, 'user.show', { email }, ({ user }) => ({
            ok: true,
            json: null,
            text: user.email,
          }));
          if (!found.ok) return found;
          if (!(await isConfirmed(io, email))) {
            return refused('not_confirmed', 'Nothing was deleted.');
          }
        }
        return operate(io, settings, 'user.delete', { email }, ({ user }) => ({
          ok: true,
          json: { deleted: toUserView(user) },
          text:
            `User ${user.email} is deleted, with its API keys and sessions. The gateway removes ` +
            'the signals that it leaves.',
        }));
      }),
    );
}

/** The email, and not a "y": a habit of the fingers must not delete the wrong user. */
async function isConfirmed(io: Io, email: string): Promise<boolean> {
  io.stderr(`This deletes ${email} for good, with all keys and signals. Type the email again: `);
  const terminal = createInterface({ input: io.stdin() });
  const answer = await new Promise<string>((resolve) => {
    terminal.once('line', resolve);
    terminal.once('close', () => resolve(''));
  });
  terminal.close();
  return answer.trim().toLowerCase() === email.trim().toLowerCase();
}
