/** `signalbox session list`: a user's plugin sessions that are valid. */
import type { Command } from 'commander';
import type { ShownSession } from '../admin/key-operations.js';
import { toIsoTime } from '../lib/clock.js';
import { columns } from '../lib/columns.js';
import { describeCommand, withSettings } from './command.js';
import type { Io } from './io.js';
import { operate } from './operate.js';

export function sessionListCommand(io: Io): Command {
  return describeCommand({
    usage: 'list <EMAIL>',
    summary: 'list the valid plugin sessions of a user',
    description:
      'Lists the sessions of terminal plugins with which a user can connect, in the order of the ' +
      'logins. Tokens are not kept and cannot be shown. Each login makes a session.',
    examples: ['signalbox session list ann@example.com'],
  }).action(
    withSettings(io, (settings, email: string) =>
      operate(io, settings, 'session.list', { email }, (listed, received) => {
        const sessions = (received as ShownSession[])
          .toSorted((a, b) => a.createdAt - b.createdAt)
          .map(({ createdAt, expiresAt }) => ({
            createdAt: toIsoTime(createdAt),
            expiresAt: toIsoTime(expiresAt),
          }));
        const rows = sessions.map(({ createdAt, expiresAt }) => [createdAt, expiresAt]);
        const text =
          rows.length === 0
            ? `User ${listed.email} has no valid session.`
            : columns([['LOGIN', 'EXPIRES'], ...rows]);
        return { ok: true, json: sessions, text };
      }),
    ),
  );
}
