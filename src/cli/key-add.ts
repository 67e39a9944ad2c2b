/** `signalbox key add`: an API key for a user, without the user's password. */
import { type Command, InvalidArgumentError } from 'commander';
import { toApiKeyView } from '../auth/api-key-view.js';
import { keyLimitsRequestSchema } from '../auth/key-limits.js';
import { repeatedMembers } from '../lib/json-members.js';
import { withoutUndefined } from '../lib/without-undefined.js';
import { describeCommand, type SharedOptions, withSettings } from './command.js';
import type { Io } from './io.js';
import { operate } from './operate.js';
import { movingText } from './user-text.js';

interface Options extends SharedOptions {
  readonly name: string;
  readonly scopes: string;
  readonly expiresAt?: string;
  readonly limits?: unknown;
}

export function keyAddCommand(io: Io): Command {
  return describeCommand({
    usage: 'add <EMAIL>',
    summary: 'make an API key for a user',
    description:
      'Makes an API key and prints its secret, once: it is not kept and cannot be shown again. The ' +
      'same rules hold as when the user makes a key, but it can be made before it works: while the ' +
      'Public API is disabled, and on a plan without it.',
    examples: [
      'signalbox key add ann@example.com --name bot --scopes signals:write,signals:read',
      'signalbox key add ann@example.com --name ui --scopes events:read --expires-at 2027-01-31T00:00:00Z',
      `signalbox key add ann@example.com --name desk --scopes signals:write --limits '{"allowedIps":["192.0.2.0/24"],"maxOpenOrders":5}'`,
    ],
  })
    .requiredOption('--name <NAME>', 'what the key is for')
    .requiredOption('--scopes <SCOPES>', 'scopes of the key, separated by commas')
    .option(
      '--expires-at <TIME>',
      'when the key expires, ISO 8601 with a time zone; without it, never',
    )
    .option(
      '--limits <JSON>',
      `JSON object with any of ${Object.keys(keyLimitsRequestSchema.properties).join(', ')}, as in POST /api/api-keys`,
      readJson,
    )
    .action(
      withSettings(io, (settings, email: string, options: Options) => {
        const { name, scopes, expiresAt, limits } = options;
        const request = {
          email,
          name,
          scopes: scopes.split(',').map((scope) => scope.trim()),
          ...withoutUndefined({ expiresAt, limits }),
        };
        return operate(io, settings, 'key.add', request, (made) => ({
          ok: true,
          json: { ...toApiKeyView(made.key, null), key: made.secret },
          text:
            `API key ${made.key.id} of user ${made.email} is made.${movingText(made.isMoving)} The ` +
            `secret of the key, which is not shown again:\n${made.secret}`,
          ifUnread:
            `Nobody has read the secret of API key ${made.key.id}. Revoke the key with "signalbox key revoke ` +
            `${made.key.id}", and make another.`,
        }));
      }),
    );
}

function readJson(text: string): unknown {
  let limits: unknown;
  try {
    limits = JSON.parse(text);
  } catch {
    throw new InvalidArgumentError('It must be JSON, such as {"maxOpenOrders":5}.');
  }
  const [repeated] = repeatedMembers(text);
  if (repeated === undefined) return limits;
  throw new InvalidArgumentError(`"${repeated}" is given more than once. Keep one of them.`);
}
