/** `signalbox session revoke`: ends a user's plugin sessions. */
import type { Command } from 'commander';
import { describeCommand, withSettings } from './command.js';
import type { Io } from './io.js';
import { operate } from './operate.js';
import { movingText } from './user-text.js';

export function sessionRevokeCommand(io: Io): Command {
  return describeCommand({
    usage: 'revoke <EMAIL>',
    summary: 'end all plugin sessions of a user',
    description:
      'Ends all sessions of terminal plugins of a user at once: their connections are closed, and ' +
      'they need a new login. API keys and user tokens stay valid.',
    examples: ['signalbox session revoke ann@example.com'],
  }).action(
    withSettings(io, (settings, email: string) =>
      operate(io, settings, 'session.revoke', { email }, ({ user, isMoving }) => ({
        ok: true,
        json: { email: user.email, userId: user.userId, sessionsRevoked: true },
        text: `All plugin sessions of user ${user.email} are ended; they need a new login.${movingText(isMoving)}`,
      })),
    ),
  );
}
