/** `signalbox user import`: takes in a user that another gateway has exported. */
import type { Command } from 'commander';
import { resolve } from 'node:path';
import type { Settings } from '../settings.js';
import { readUserFileHead, type UserFileFault, type UserFileHead } from '../transfer/user-file.js';
import {
  describeCommand,
  finish,
  type Outcome,
  refused,
  settingsFor,
  type SharedOptions,
} from './command.js';
import type { Io } from './io.js';
import { operate } from './operate.js';

interface Options extends SharedOptions {
  readonly discard?: boolean;
}

export function userImportCommand(io: Io): Command {
  return describeCommand({
    usage: 'import <FILE>',
    summary: 'take in a user from another gateway',
    description:
      'Takes in the user of a FILE that "signalbox user export --freeze" has written, with all that ' +
      'belongs to it; a running gateway serves it at once. API keys and session tokens go on ' +
      'working; the numbers of keys are new ones. User tokens do not: users log in again. What was ' +
      'sent to a terminal and not confirmed stays so, and becomes unknown unless the terminal ' +
      'reports on it. The user appears whole or not at all: after an import that was cut off, run ' +
      'it again.',
    examples: ['signalbox user import ann.jsonl', 'signalbox user import ann.jsonl --discard'],
  })
    .option('--discard', 'remove what an import of this file left that was cut off')
    .action(async (file: string, options: Options) => {
      const settings = settingsFor(io, options);
      if (settings === undefined) return;
      const head = readUserFileHead(file);
      if (typeof head === 'string') return finish(io, faulty(file, head), options);
      const work = options.discard ? discard(io, settings, head) : take(io, settings, file, head);
      finish(io, await work, options);
    });
}

async function take(
  io: Io,
  settings: Settings,
  file: string,
  { userId, email, plan, isMove }: UserFileHead,
): Promise<Outcome> {
  if (!isMove) {
    return refused(
      'not_frozen',
      `${file} is a copy of ${email}, made while it went on on its gateway: two gateways would act ` +
        'for one user. Export it with --freeze.',
    );
  }
  const request = { file: resolve(file), head: { userId, email, plan } };
  return operate(io, settings, 'user.import', request, ({ rows }) => ({
    ok: true,
    json: { email, userId, rows },
    text: `User ${email} is here, with ${rows} records. Send its requests to this gateway now.`,
  }));
}

function discard(io: Io, settings: Settings, { userId, email }: UserFileHead): Promise<Outcome> {
  return operate(io, settings, 'user.discard', { userId, email }, () => ({
    ok: true,
    json: { email, userId, discarded: true },
    text: `What the import of ${email} had left is removed.`,
  }));
}

function faulty(file: string, fault: UserFileFault): Outcome {
  return refused(`file_${fault}`, faults[fault](file));
}

// prettier-ignore
const faults: Readonly<Record<UserFileFault, (file: string) => string>> = {
  unreadable:    (file) => `The file ${file} cannot be read. Give the path of a file that "signalbox user export" has written.`,
  foreign:       (file) => `${file} is no file of "signalbox user export". Give the path of one.`,
  other_version: (file) => `${file} was written by another version of Signalbox, whose format this one does not read. Run the same version on both gateways.`,
  damaged:       (file) => `${file} is cut off or was changed: its last line does not fit the others. Copy it again, or export again.`,
};
