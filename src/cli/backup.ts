/** `signalbox backup`: a complete copy of the data directory, taken while the gateway serves. */
import type { Command } from 'commander';
import { resolve } from 'node:path';
import { systemClock } from '../lib/clock.js';
import { bytesText } from '../lib/units.js';
import { describeCommand, finish, settingsFor, type SharedOptions } from './command.js';
import type { Io } from './io.js';
import { operate } from './operate.js';

export function backupCommand(io: Io): Command {
  return describeCommand({
    usage: 'backup <DIR>',
    summary: 'copy the data directory while the gateway runs',
    description:
      'Writes a consistent copy of the data directory into DIR, a new or empty directory. A running ' +
      'gateway writes it itself, as the user that it runs as, and goes on accepting signals. All that ' +
      'was answered before the command began is in the copy. The copy is a complete data directory: ' +
      'to restore it, start a gateway with it. It holds the secret that signs user tokens, unless ' +
      'that is given with SIGNALBOX_JWT_SECRET, so keep it as safe as the original.',
    examples: [
      'signalbox backup /var/backups/signalbox/monday',
      'signalbox doctor --data-dir /var/backups/signalbox/monday',
      'signalbox serve --data-dir /var/backups/signalbox/monday',
    ],
  }).action(async (target: string, options: SharedOptions) => {
    const settings = settingsFor(io, options);
    if (settings === undefined) return;
    const begunAt = systemClock.monotonic();
    const request = { directory: resolve(target) };
    const outcome = await operate(io, settings, 'backup', request, (backup) => {
      const seconds = (systemClock.monotonic() - begunAt) / 1000;
      return {
        ok: true,
        json: { ...backup, seconds: Number(seconds.toFixed(3)) },
        text:
          `The backup is complete: ${bytesText(backup.bytes)} in ${backup.directory}, written in ` +
          `${seconds.toFixed(1)} s. Check it with "signalbox doctor --data-dir ${backup.directory}".`,
      };
    });
    finish(io, outcome, options);
  });
}
