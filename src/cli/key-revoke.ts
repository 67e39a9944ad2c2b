/** `signalbox key revoke`: ends an API key, whoever has it. */
import type { Command } from 'commander';
import { revokeKeyAsOperator } from '../auth/accounts.js';
import { describeCommand, misused, refused, type SharedOptions } from './command.js';
import { onStore } from './on-store.js';

export function keyRevokeCommand(): Command {
  return describeCommand({
    usage: 'revoke <ID>',
    summary: 'revoke an API key',
    description:
      'Revokes an API key at once and for good; ID is the number that "signalbox key list" shows. ' +
      'To revoke a key that is revoked already does no harm.',
    examples: ['signalbox key revoke 7'],
  }).action((id: string, options: SharedOptions) => {
    return onStore(options, async ({ store, clock }) => {
      if (!/^[0-9]{1,15}$/.test(id)) {
        return misused(
          `${JSON.stringify(id)} is not the id of an API key, which is a number. "signalbox key ` +
            'list EMAIL" shows the ids.',
        );
      }
      const userId = await revokeKeyAsOperator(store, Number(id), clock.now());
      if (userId === undefined) {
        return refused(
          'key_not_found',
          `There is no API key ${id}. "signalbox key list EMAIL" shows the ids.`,
        );
      }
      const email = store.get('users', userId)?.email ?? null;
      return {
        ok: true,
        json: { id: Number(id), email, userId, revoked: true },
        text: `API key ${Number(id)} of user ${email ?? userId} is revoked.`,
      };
    });
  });
}
