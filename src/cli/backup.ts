/** `signalbox backup`: a complete copy of the data directory, taken while the gateway serves. */
import type { Command } from 'commander';
import { backUp } from '../store/backup.js';
import { describeCommand, refused, type SharedOptions } from './command.js';
import { onStore } from './on-store.js';
import { bytesText } from '../lib/units.js';

export function backupCommand(): Command {
  return describeCommand({
    usage: 'backup <DIR>',
    summary: 'copy the data directory while the gateway runs',
    description:
      'Writes a consistent copy of the data directory into DIR, a new or empty directory, whether ' +
      'or not the gateway is running; a running one goes on accepting signals. All that was ' +
      'answered before the command began is in the copy. The copy is a complete data directory: ' +
      'to restore it, start a gateway with it. It holds the secret that signs user tokens, unless ' +
      'that is given with SIGNALBOX_JWT_SECRET, so keep it as safe as the original.',
    examples: [
      'signalbox backup /var/backups/signalbox/monday',
      'signalbox doctor --data-dir /var/backups/signalbox/monday',
      'signalbox serve --data-dir /var/backups/signalbox/monday',
    ],
  }).action((directory: string, options: SharedOptions) =>
    onStore(options, async ({ store, settings, clock }) => {
      const begunAt = clock.monotonic();
      const backup = await backUp(store, settings.dataDir, directory);
      if ('reason' in backup) return refused(backup.code, backup.reason);
      const seconds = (clock.monotonic() - begunAt) / 1000;
      return {
        ok: true,
        json: { ...backup, seconds: Number(seconds.toFixed(3)) },
        text:
          `The backup is complete: ${bytesText(backup.bytes)} in ${backup.directory}, written in ` +
          `${seconds.toFixed(1)} s. Check it with "signalbox doctor --data-dir ${backup.directory}".`,
      };
    }),
  );
}
