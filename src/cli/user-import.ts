/** `signalbox user import`: adds a user that another gateway has exported. */
import type { Command } from 'commander';
import { errorText } from '../lib/error-text.js';
import type { Settings } from '../settings.js';
import { isUserFileHead, judgeRows } from '../transfer/row-rules.js';
import {
  readUserFileHead,
  readUserRows,
  UserFileChanged,
  type UserFileFault,
  type UserFileHead,
} from '../transfer/user-file.js';
import {
  describeCommand,
  type Outcome,
  refused,
  type SharedOptions,
  withSettings,
} from './command.js';
import type { Io } from './io.js';
import { operate } from './operate.js';

interface Options extends SharedOptions {
  readonly discard?: boolean;
}

export function userImportCommand(io: Io): Command {
  return describeCommand({
    usage: 'import <FILE>',
    summary: 'add a user from another gateway',
    description:
      'Adds the user of a FILE that "signalbox user export --freeze" has written, with all that ' +
      'belongs to it; a running gateway serves it at once. API keys, which get new ids, and session ' +
      'tokens stay valid. User tokens do not: users log in again. Commands that were sent to a ' +
      'terminal and not confirmed become unknown unless the terminal reports on them. The user ' +
      'is added completely or not at all: after an import that was cut off, run it again.',
    examples: ['signalbox user import ann.jsonl', 'signalbox user import ann.jsonl --discard'],
  })
    .option('--discard', 'remove the rows that an import of this file left when it was cut off')
    .action(
      withSettings(io, (settings, file: string, options: Options) => {
        let head: ReturnType<typeof readUserFileHead>;
        try {
          head = readUserFileHead(file);
        } catch (error) {
          return unreadable(file, error);
        }
        if (typeof head === 'string') return faulty(file, head);
        if (!isUserFileHead(head)) return invalid(file, 1);
        return options.discard ? discard(io, settings, head) : add(io, settings, file, head);
      }),
    );
}

async function add(io: Io, settings: Settings, file: string, head: UserFileHead): Promise<Outcome> {
  const { userId, email, plan, isMove } = head;
  if (!isMove) {
    return refused(
      'not_frozen',
      `${file} is a copy of ${email}, made while the user stayed active on its gateway: two gateways would act ` +
        'for one user. Export the user with --freeze.',
    );
  }
  try {
    const judged = judgeRows(head, readUserRows(file));
    if ('invalidLine' in judged) return invalid(file, judged.invalidLine);
    return await operate(
      io,
      settings,
      'user.import',
      { userId, email, plan, keyIds: judged.keyIds },
      ({ rows }) => ({
        ok: true,
        json: { email, userId, rows },
        text: `User ${email} is here, with ${rows} records. Send its requests to this gateway now.`,
      }),
      { rows: readUserRows(file) },
    );
  } catch (error) {
    if (error instanceof UserFileChanged) return faulty(file, 'damaged');
    // The file is opened once more for each time that it is read, and may be gone by then.
    if ((error as NodeJS.ErrnoException).path === file) return unreadable(file, error);
    throw error;
  }
}

function discard(io: Io, settings: Settings, { userId, email }: UserFileHead): Promise<Outcome> {
  return operate(io, settings, 'user.discard', { userId, email }, () => ({
    ok: true,
    json: { email, userId, discarded: true },
    text: `The rows that the import of ${email} left are removed.`,
  }));
}

function unreadable(file: string, error: unknown): Outcome {
  return refused(
    'file_unreadable',
    `The file ${file} cannot be read: ${errorText(error)}. Give the path of a file that "signalbox user export" has ` +
      'written, and that the user of this command may read.',
  );
}

function invalid(file: string, line: number): Outcome {
  return refused(
    'file_invalid',
    `Line ${line} of ${file} does not belong in an export of a user; nothing was imported. Export the user again.`,
  );
}

function faulty(file: string, fault: UserFileFault): Outcome {
  return refused(`file_${fault}`, faults[fault](file));
}

// oxfmt-ignore
const faults: Readonly<Record<UserFileFault, (file: string) => string>> = {
  foreign:       (file) => `${file} is not a file of "signalbox user export". Give the path of one.`,
  other_version: (file) => `${file} was written by another version of Signalbox, whose format this one does not read. Run the same version on both gateways.`,
  damaged:       (file) => `${file} is cut off or was changed: its last line does not fit the others. Copy it again, or export again.`,
};
