/** `signalbox key revoke`: ends an API key, whichever user it belongs to. */
import type { Command } from 'commander';
import { describeCommand, misused, withSettings } from './command.js';
import type { Io } from './io.js';
import { operate } from './operate.js';
import { movingText } from './user-text.js';

export function keyRevokeCommand(io: Io): Command {
  return describeCommand({
    usage: 'revoke <ID>',
    summary: 'revoke an API key',
    description:
      'Revokes an API key at once and for good; ID is the number that "signalbox key list" shows. ' +
      'A key that is already revoked stays revoked.',
    examples: ['signalbox key revoke 7'],
  }).action(
    withSettings(io, (settings, id: string) => {
      if (!/^[0-9]{1,15}$/.test(id)) {
        return misused(
          `${JSON.stringify(id)} is not the id of an API key, which is a number. "signalbox key ` +
            'list EMAIL" shows the ids.',
        );
      }
      const request = { id: Number(id) };
      return operate(io, settings, 'key.revoke', request, ({ isMoving, ...key }) => ({
        ok: true,
        json: { ...key, revoked: true },
        text: `API key ${key.id} of user ${key.email ?? key.userId} is revoked.${movingText(isMoving)}`,
      }));
    }),
  );
}
