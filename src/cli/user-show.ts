/** `signalbox user show`: one user with API keys and known terminals. */
import type { Command } from 'commander';
import { findUser } from '../auth/accounts.js';
import { listApiKeys } from '../auth/api-key.js';
import { toIsoTime } from '../lib/clock.js';
import { columns } from './columns.js';
import { describeCommand, type SharedOptions } from './command.js';
import { onStore } from './on-store.js';
import { toUserView, userNotFound, yesOrNo } from './user-text.js';

export function userShowCommand(): Command {
  return describeCommand({
    usage: 'show <EMAIL>',
    summary: 'show one user',
    description: 'Shows one user: plan, state, how many API keys, and the terminals last seen.',
    examples: ['signalbox user show ann@example.com'],
  }).action((email: string, options: SharedOptions) =>
    onStore(options, ({ store, settings }) => {
      const user = findUser(store, email);
      if (user === undefined) return userNotFound(email);
      const view = toUserView(user);
      const apiKeys = listApiKeys(store, user.userId).length;
      const terminals = store.range('sources', { prefix: [user.userId] }).map(({ record }) => ({
        platform: record.platform,
        instanceId: record.instanceId,
        accountName: record.accountName,
        lastSeenAt: toIsoTime(record.lastSeenAt),
      }));
      const isPlanKnown = Object.hasOwn(settings.plans, user.plan);
      const rows = [
        ['email', view.email],
        ['user', view.userId],
        ['plan', isPlanKnown ? view.plan : `${view.plan} (not among the plans of the settings)`],
        ['confirmed', yesOrNo(view.confirmed)],
        ['frozen', yesOrNo(view.frozen)],
        ...(user.moving === undefined
          ? []
          : [['moving', 'exported to move to another gateway; "--frozen false" takes it back']]),
        ['created', view.createdAt],
        ['API keys', `${apiKeys}`],
        ...terminals.map(({ platform, instanceId, accountName, lastSeenAt }) => [
          'terminal',
          `${platform}, instance "${instanceId}", account "${accountName}", seen ${lastSeenAt}`,
        ]),
      ];
      return { ok: true, json: { ...view, apiKeys, terminals }, text: columns(rows) };
    }),
  );
}
