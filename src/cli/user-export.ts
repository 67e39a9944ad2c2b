/** `signalbox user export`: all that belongs to a user, in a file, to move it to another gateway. */
import type { Command } from 'commander';
import { resolve } from 'node:path';
import { describeCommand, finish, settingsFor, type SharedOptions } from './command.js';
import type { Io } from './io.js';
import { operate } from './operate.js';
import { undoFreeze } from './refusals.js';

interface Options extends SharedOptions {
  readonly freeze?: boolean;
}

export function userExportCommand(io: Io): Command {
  return describeCommand({
    usage: 'export <EMAIL> <FILE>',
    summary: 'write all that belongs to a user into a file',
    description:
      'Writes a user with API keys, sessions, signals, executions, idempotency records and known ' +
      'terminals into FILE, which must not exist yet. With --freeze the user stands still here from ' +
      'then on, so that it can be imported on another gateway: signals are refused with ' +
      'account_frozen, nobody logs in, user tokens end, and terminals are told to come back later. ' +
      'Without it the file is a copy to keep, which cannot be imported. FILE holds hashes of the ' +
      'password and the keys, and every order: only its owner can read it.',
    examples: [
      'signalbox user export ann@example.com ann.jsonl --freeze',
      'signalbox user import ann.jsonl --data-dir /var/lib/signalbox-2',
      'signalbox user delete ann@example.com',
    ],
  })
    .option('--freeze', 'let the user stand still here, to be moved')
    .action(async (email: string, file: string, options: Options) => {
      const settings = settingsFor(io, options);
      if (settings === undefined) return;
      const request = { email, file: resolve(file), freeze: options.freeze === true };
      const outcome = await operate(io, settings, 'user.export', request, (departure) => ({
        ok: true,
        json: { ...departure, file },
        text:
          `User ${departure.email} is in ${file}, with ${departure.rows} records. ` +
          (departure.isMove
            ? 'Now run "signalbox user import" with it on the other gateway, send the user’s ' +
              `requests there, and then run "signalbox user delete ${email}" here. Until then ` +
              undoFreeze(email)
            : 'The user goes on here; to move it, export it with --freeze.'),
      }));
      finish(io, outcome, options);
    });
}
