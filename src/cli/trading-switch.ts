/** `signalbox halt` and `resume`: the operator's switch that stops all orders. */
import type { Command } from 'commander';
import { toIsoTimeOrNull } from '../lib/clock.js';
import { withoutUndefined } from '../lib/without-undefined.js';
import { describeCommand, misused, type SharedOptions, withSettings } from './command.js';
import { haltReasonLengthMax } from '../model/records.js';
import type { Io } from './io.js';
import { operate } from './operate.js';

interface HaltOptions extends SharedOptions {
  readonly reason?: string;
}

export function haltCommand(io: Io): Command {
  return describeCommand({
    usage: 'halt',
    summary: 'stop all orders of all users',
    description:
      'Refuses new signals with 403 trading_halted, and denies every order that was accepted and not ' +
      'yet sent to its terminal. When the command ends, no order leaves any more. Cancels, reads and ' +
      'streams go on; orders that are at their terminals stay there. The halt outlives restarts.',
    examples: ['signalbox halt', 'signalbox halt --reason "prices of the feed are wrong"'],
  })
    .option('--reason <TEXT>', 'shown by /readyz and in the log')
    .action(
      withSettings(io, (settings, { reason }: HaltOptions) => {
        if (reason !== undefined && reason.length > haltReasonLengthMax) {
          return misused(
            `A reason has at most ${haltReasonLengthMax} characters; this one has ${reason.length}.`,
          );
        }
        return operate(io, settings, 'trading.halt', withoutUndefined({ reason }), (state) => ({
          ok: true,
          json: { halted: true, reason: state.reason, since: toIsoTimeOrNull(state.since) },
          text: 'Trading is halted: no order leaves. "signalbox resume" ends the halt.',
        }));
      }),
    );
}

export function resumeCommand(io: Io): Command {
  return describeCommand({
    usage: 'resume',
    summary: 'end a halt',
    description:
      'Takes signals again after "signalbox halt". What the halt has denied stays denied: bots submit ' +
      'it anew if they still want it.',
    examples: ['signalbox resume'],
  }).action(
    withSettings(io, (settings) =>
      operate(io, settings, 'trading.resume', {}, () => ({
        ok: true,
        json: { halted: false, reason: null, since: null },
        text: 'Trading goes on: signals are taken again.',
      })),
    ),
  );
}
