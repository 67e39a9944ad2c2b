/** `signalbox user show`: one user with API keys and known terminals. */
import type { Command } from 'commander';
import { toIsoTime } from '../lib/clock.js';
import { columns } from '../lib/columns.js';
import { describeCommand, withSettings } from './command.js';
import type { Io } from './io.js';
import { operate } from './operate.js';
import { toUserView, yesOrNo } from './user-text.js';

export function userShowCommand(io: Io): Command {
  return describeCommand({
    usage: 'show <EMAIL>',
    summary: 'show one user',
    description: 'Shows one user: plan, state, number of API keys, and the terminals last seen.',
    examples: ['signalbox user show ann@example.com'],
  }).action(
    withSettings(io, (settings, email: string) =>
      operate(io, settings, 'user.show', { email }, (found) => {
        const { user, apiKeys, isMoving, isPlanKnown } = found;
        const view = toUserView(user);
        const terminals = found.terminals.map((terminal) => ({
          ...terminal,
          lastSeenAt: toIsoTime(terminal.lastSeenAt),
        }));
        const rows = [
          ['email', view.email],
          ['user', view.userId],
          ['plan', isPlanKnown ? view.plan : `${view.plan} (not among the plans of the settings)`],
          ['confirmed', yesOrNo(view.confirmed)],
          ['frozen', yesOrNo(view.frozen)],
          ...(isMoving
            ? [['moving', 'exported to move to another gateway; "--frozen false" takes it back']]
            : []),
          ['created', view.createdAt],
          ['API keys', `${apiKeys}`],
          ...terminals.map(({ platform, instanceId, accountName, lastSeenAt }) => [
            'terminal',
            `${platform}, instance "${instanceId}", account "${accountName}", seen ${lastSeenAt}`,
          ]),
        ];
        return {
          ok: true,
          json: { ...view, moving: isMoving, apiKeys, terminals },
          text: columns(rows),
        };
      }),
    ),
  );
}
