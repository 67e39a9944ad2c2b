/** `signalbox user cancel-all`: cancels the open orders of a user. */
import type { Command } from 'commander';
import { withoutUndefined } from '../lib/without-undefined.js';
import { describeCommand, type SharedOptions, withSettings } from './command.js';
import type { Io } from './io.js';
import { operate } from './operate.js';

interface Options extends SharedOptions {
  readonly platform?: string;
  readonly instance?: string;
  readonly account?: string;
  readonly instrument?: string;
}

export function userCancelAllCommand(io: Io): Command {
  return describeCommand({
    usage: 'cancel-all <EMAIL>',
    summary: 'cancel all open orders of a user',
    description:
      'Denies the orders that were not sent yet, and requests the cancel of every other open one. A cancel ' +
      'waits for its terminal for up to 24 hours. The options restrict the command to orders that match all of them. ' +
      'New orders are still accepted: freeze the user first to stop them.',
    examples: [
      'signalbox user cancel-all ann@example.com',
      'signalbox user cancel-all ann@example.com --account Sim101 --instrument ES',
    ],
  })
    .option('--platform <PLATFORM>', 'platform token, or several separated by commas')
    .option('--instance <INSTANCE>', 'instance of the terminal')
    .option('--account <ACCOUNT>', 'account of the terminal')
    .option('--instrument <INSTRUMENT>', 'instrument of the order')
    .action(
      withSettings(io, (settings, email: string, options: Options) => {
        const { platform, instance: instanceId, account: accountName, instrument } = options;
        const filter = withoutUndefined({ platform, instanceId, accountName, instrument });
        const request = { email, filter };
        return operate(io, settings, 'user.cancel-all', request, ({ user, counts, cancelled }) => ({
          ok: true,
          json: { email: user.email, userId: user.userId, counts, ...cancelled },
          text:
            `${cancelled.matched} open orders of user ${user.email} match: ${counts.denied} denied before ` +
            `they were sent, ${counts.requested} cancels requested, ${counts.already_requested} under way ` +
            `already, ${counts.not_sent} at terminals that cannot cancel. "signalbox signal list ` +
            `--user ${user.email} --status open" shows what is still open.`,
        }));
      }),
    );
}
