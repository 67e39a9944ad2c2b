/** `signalbox serve`: the gateway. */
import type { Command } from 'commander';
import { flaggedSettings } from '../settings/table.js';
import { StoreRefused } from '../store/refusal.js';
import { describeCommand, finish, refused, settingsFor, type SharedOptions } from './command.js';
import type { Io } from './io.js';

export function serveCommand(io: Io): Command {
  return describeCommand({
    usage: 'serve',
    summary: 'run the gateway',
    description:
      'Runs the gateway until SIGTERM or SIGINT, which drain it: within 10 seconds all that was ' +
      'accepted is on disk and the process ends with exit code 0. When it is ready it prints one ' +
      'line of JSON with "url" and "opsUrl" on standard output; its log goes to standard error.',
    examples: [
      'signalbox serve',
      'signalbox serve --data-dir /var/lib/signalbox --config /etc/signalbox.json',
      'signalbox serve --host 0.0.0.0 --port 8443 --tls-cert cert.pem --tls-key key.pem',
    ],
    settings: flaggedSettings,
  }).action(async (options: SharedOptions) => {
    const settings = settingsFor(io, options);
    if (settings === undefined) return;
    // Only here, so that no other command needs the native server.
    const { main } = await import('../main.js');
    await main(settings, (refusal) => {
      const code = refusal instanceof StoreRefused ? 'data_directory_refused' : 'start_refused';
      finish(io, refused(code, refusal.message), options);
    });
  });
}
