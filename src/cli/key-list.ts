/** `signalbox key list`: a user's API keys, without their secrets. */
import type { Command } from 'commander';
import { findUser } from '../auth/accounts.js';
import { listApiKeys } from '../auth/api-key.js';
import { toApiKeyView } from '../auth/api-key-view.js';
import { columns } from './columns.js';
import { describeCommand, type SharedOptions } from './command.js';
import { onStore } from './on-store.js';
import { userNotFound } from './user-text.js';

const headings = ['ID', 'NAME', 'KEY', 'SCOPES', 'CREATED', 'EXPIRES', 'LAST USED'];

export function keyListCommand(): Command {
  return describeCommand({
    usage: 'list <EMAIL>',
    summary: 'list the API keys of a user',
    description:
      'Lists the API keys of a user that are not revoked, expired ones included. Secrets are not ' +
      'kept and cannot be shown. The last use is written every few seconds.',
    examples: ['signalbox key list ann@example.com'],
  }).action((email: string, options: SharedOptions) =>
    onStore(options, ({ store }) => {
      const user = findUser(store, email);
      if (user === undefined) return userNotFound(email);
      const keys = listApiKeys(store, user.userId).map((key) =>
        toApiKeyView(key, store.get('apiKeyUses', key.id) ?? null),
      );
      const rows = keys.map((key) => [
        `${key.id}`,
        key.name,
        key.displayPrefix,
        key.scopes.join(','),
        key.createdAt,
        key.expiresAt ?? 'never',
        key.lastUsedAt ?? 'never',
      ]);
      const text =
        keys.length === 0 ? `User ${user.email} has no API keys.` : columns([headings, ...rows]);
      return { ok: true, json: keys, text };
    }),
  );
}
