/** `signalbox key list`: a user's API keys, without their secrets. */
import type { Command } from 'commander';
import { toApiKeyView } from '../auth/api-key-view.js';
import { columns } from '../lib/columns.js';
import { describeCommand, withSettings } from './command.js';
import type { Io } from './io.js';
import { operate } from './operate.js';

const headings = ['ID', 'NAME', 'KEY', 'SCOPES', 'CREATED', 'EXPIRES', 'LAST USED', 'LIMITS'];

export function keyListCommand(io: Io): Command {
  return describeCommand({
    usage: 'list <EMAIL>',
    summary: 'list the API keys of a user',
    description:
      'Lists the API keys of a user that are not revoked, expired ones included. Secrets are not ' +
      'kept and cannot be shown. The last use is written every few seconds.',
    examples: ['signalbox key list ann@example.com'],
  }).action(
    withSettings(io, (settings, email: string) =>
      operate(io, settings, 'key.list', { email }, (listed) => {
        const keys = listed.keys.map(({ key, usedAt }) => toApiKeyView(key, usedAt));
        const rows = keys.map((key) => [
          `${key.id}`,
          key.name,
          key.displayPrefix,
          key.scopes.join(','),
          key.createdAt,
          key.expiresAt ?? 'never',
          key.lastUsedAt ?? 'never',
          key.limits === null ? 'none' : JSON.stringify(key.limits),
        ]);
        const text =
          keys.length === 0
            ? `User ${listed.user.email} has no API keys.`
            : columns([headings, ...rows]);
        return { ok: true, json: keys, text };
      }),
    ),
  );
}
