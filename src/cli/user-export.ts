/** `signalbox user export`: all that belongs to a user, in a file, to move it to another gateway. */
import { existsSync } from 'node:fs';
import type { Command } from 'commander';
import { asCaller } from '../admin/owner.js';
import { errorText } from '../lib/error-text.js';
import type { Settings } from '../settings.js';
import type { ExportedUser } from '../transfer/export-user.js';
import {
  createUserFile,
  type UserFileHead,
  type UserFileWriter,
  type UserRow,
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
      'terminals into FILE, which must not exist yet. With --freeze the user is suspended here, so ' +
      'that it can be imported on another gateway: signals are refused with account_frozen, logins ' +
      'are refused, user tokens end, and terminals are told to reconnect later. Without --freeze, the file ' +
      'is a copy to keep, which cannot be imported. FILE holds hashes of the password and the keys, ' +
      'and every order: only its owner can read it.',
    examples: [
      'signalbox user export ann@example.com ann.jsonl --freeze',
      'signalbox user import ann.jsonl --data-dir /var/lib/signalbox-2',
      'signalbox user delete ann@example.com',
    ],
  })
    .option('--freeze', 'suspend the user here, to move it')
    .action(
      withSettings(io, (settings, email: string, file: string, { freeze = false }: Options) =>
        write(io, settings, email, file, freeze),
      ),
    );
}

/** Codes of an export whose user may be suspended, and whose rows have not all come. */
const cutOffCodes: ReadonlySet<string> = new Set([
  'outcome_unknown',
  'store_failed',
  'internal_error',
]);

const endingSignals = ['SIGINT', 'SIGTERM'] as const;

async function write(
  io: Io,
  settings: Settings,
  email: string,
  file: string,
  freeze: boolean,
): Promise<Outcome> {
  if (existsSync(file)) return exists(file);
  const mayBeFrozen = freeze ? ` The user may be frozen; ${undoFreeze(email)}` : '';
  let drop = (): void => undefined;
  const interrupted = (signal: NodeJS.Signals): void => {
    // Root has the rights of the data directory's owner meanwhile, who may not be able to reach the file.
    void asCaller(drop);
    io.stderr(`Nothing was written.${mayBeFrozen}\n`);
    process.kill(process.pid, signal);
  };
  // Before the file is made, which a signal would leave behind.
  for (const signal of endingSignals) process.once(signal, interrupted);
  let failure: { readonly error: unknown } | undefined;
  const attempt = (step: () => void): void => {
    try {
      step();
    } catch (error) {
      failure = { error };
      throw error;
    }
  };
  try {
    let writer: UserFileWriter;
    try {
      // Before the user is suspended: a path that cannot be written has no effect.
      writer = createUserFile(file);
    } catch (error) {
      return unwritable(file, error);
    }
    drop = () => writer.drop();
    const onRow = (row: unknown): void =>
      attempt(() => writer.write(row as UserFileHead | UserRow));
    const outcome = await operate(
      io,
      settings,
      'user.export',
      { email, freeze },
      (user) => {
        attempt(() => writer.finish());
        return done(file, user);
      },
      { onRow },
    );
    if (outcome.ok || !cutOffCodes.has(outcome.code)) return outcome;
    return { ...outcome, message: `${outcome.message} No file was written.${mayBeFrozen}` };
  } catch (error) {
    if (failure === undefined) throw error;
    return unwritable(file, failure.error, freeze ? email : undefined);
  } finally {
    for (const signal of endingSignals) process.off(signal, interrupted);
    drop();
  }
}

function done(file: string, user: ExportedUser): Outcome {
  const { email, rows, isMove } = user;
  return {
    ok: true,
    json: { ...user, file },
    text:
      `User ${email} is in ${file}, with ${rows} records. ` +
      (isMove
        ? 'Now run "signalbox user import" with it on the other gateway, send the user’s ' +
          `requests there, and then run "signalbox user delete ${email}" here. Until then ` +
          undoFreeze(email)
        : 'The user stays here as it is; to move it, export it with --freeze.'),
  };
}

function exists(file: string, suspended = ''): Outcome {
  return refused(
    'file_exists',
    `There is a file ${file} already, and nothing is ever overwritten. Give another name.${suspended}`,
  );
}

/** @param frozen the email of the user that is suspended now. */
function unwritable(file: string, error: unknown, frozen?: string): Outcome {
  const suspended = frozen === undefined ? '' : ` The user is frozen; ${undoFreeze(frozen)}`;
  if ((error as NodeJS.ErrnoException).code === 'EEXIST') return exists(file, suspended);
  return refused(
    'file_unwritable',
    `The file ${file} cannot be written: ${errorText(error)}. Give a path on a disk with free space ` +
      `that the user of this command may write to.${suspended}`,
  );
}
