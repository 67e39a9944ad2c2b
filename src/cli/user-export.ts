/** `signalbox user export`: all that belongs to a user, in a file, to move it to another gateway. */
import type { Command } from 'commander';
import { existsSync } from 'node:fs';
import { findUser, suspendUser } from '../auth/accounts.js';
import { exportUser } from '../transfer/export-user.js';
import { gatewayHeard } from '../transfer/gateway-ear.js';
import { describeCommand, type Outcome, refused, type SharedOptions } from './command.js';
import { onStore, type StoreWork } from './on-store.js';
import { userNotFound } from './user-text.js';

interface Options extends SharedOptions {
  readonly freeze?: boolean;
}

export function userExportCommand(): Command {
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
    .action((email: string, file: string, options: Options) =>
      onStore(options, (on) => write(email, file, options, on)),
    );
}

const undo = (email: string): string =>
  `"signalbox user set ${email} --frozen false" lets the user go on here.`;

async function write(
  email: string,
  file: string,
  { freeze }: Options,
  { store, settings, clock }: StoreWork,
): Promise<Outcome> {
  if (findUser(store, email) === undefined) return userNotFound(email);
  if (existsSync(file)) {
    return refused(
      'file_exists',
      `There is a file ${file} already, and nothing is ever overwritten. Give another name.`,
    );
  }
  const user = freeze ? await suspendUser(store, email) : findUser(store, email);
  if (user === undefined) return userNotFound(email);
  if (freeze && !(await gatewayHeard(store, settings.dataDir, user.userId))) {
    return refused(
      'gateway_silent',
      `The user ${email} is frozen, but the gateway has not obeyed yet, and nothing is written. ` +
        `Look at its /readyz and its log, then run this again; ${undo(email)}`,
    );
  }
  try {
    const departure = exportUser(store, email, file, clock.now());
    if (departure === undefined) return userNotFound(email);
    const next = departure.isMove
      ? 'Now run "signalbox user import" with it on the other gateway, send the user’s requests ' +
        `there, and then run "signalbox user delete ${email}" here. Until then ${undo(email)}`
      : 'The user goes on here; to move it, export it with --freeze.';
    return {
      ok: true,
      json: { ...departure, file },
      text: `User ${departure.email} is in ${file}, with ${departure.rows} records. ${next}`,
    };
  } catch (error) {
    return refused(
      'file_unwritable',
      `The file ${file} cannot be written: ${(error as Error).message}. Give a path on a disk that ` +
        `takes writes. ${freeze ? `The user is frozen; ${undo(email)}` : ''}`.trimEnd(),
    );
  }
}
