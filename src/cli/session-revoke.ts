/** `signalbox session revoke`: ends a user's plugin sessions. */
import type { Command } from 'commander';
import { revokeSessions } from '../auth/accounts.js';
import { describeCommand, type SharedOptions } from './command.js';
import { onStore } from './on-store.js';
import { userNotFound } from './user-text.js';

export function sessionRevokeCommand(): Command {
  return describeCommand({
    usage: 'revoke <EMAIL>',
    summary: 'end all plugin sessions of a user',
    description:
      'Ends all sessions of terminal plugins of a user at once: their connections are closed, and ' +
      'they need a new login. API keys and user tokens stay valid.',
    examples: ['signalbox session revoke ann@example.com'],
  }).action((email: string, options: SharedOptions) =>
    onStore(options, async ({ store }) => {
      const user = await revokeSessions(store, email);
      if (user === undefined) return userNotFound(email);
      return {
        ok: true,
        json: { email: user.email, userId: user.userId, sessionsRevoked: true },
        text: `All plugin sessions of user ${user.email} are ended; they need a new login.`,
      };
    }),
  );
}
