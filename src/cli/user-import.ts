/** `signalbox user import`: takes in a user that another gateway has exported. */
import type { Command } from 'commander';
import {
  discardImport,
  importUser,
  type ImportDeps,
  type ImportRefusal,
} from '../transfer/import-user.js';
import { gatewayHeard } from '../transfer/gateway-ear.js';
import { readUserFileHead, type UserFileFault, type UserFileHead } from '../transfer/user-file.js';
import {
  describeCommand,
  finish,
  type Outcome,
  refused,
  settingsFor,
  type SharedOptions,
} from './command.js';
import { type StoreWork, withStore } from './on-store.js';
import { unknownPlan } from './user-text.js';

interface Options extends SharedOptions {
  readonly discard?: boolean;
}

export function userImportCommand(): Command {
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
      const settings = settingsFor(options);
      if (settings === undefined) return;
      const head = readUserFileHead(file);
      if (typeof head === 'string') return finish(faulty(file, head), options);
      const work = (on: StoreWork): Promise<Outcome> =>
        options.discard ? discard(head, on) : take(file, head, on);
      finish(await withStore(settings, work, 'create'), options);
    });
}

async function take(file: string, head: UserFileHead, on: StoreWork): Promise<Outcome> {
  const { email, userId, plan } = head;
  if (!head.isMove) {
    return refused(
      'not_frozen',
      `${file} is a copy of ${email}, made while it went on on its gateway: two gateways would act ` +
        'for one user. Export it with --freeze.',
    );
  }
  const plans = Object.keys(on.settings.plans);
  if (!plans.includes(plan)) return unknownPlan(plan, plans);
  const rows = await importUser(importDeps(on), file, head);
  if (typeof rows === 'string') return refused(rows, refusals[rows](email, file));
  return {
    ok: true,
    json: { email, userId, rows },
    text: `User ${email} is here, with ${rows} records. Send its requests to this gateway now.`,
  };
}

async function discard({ userId, email }: UserFileHead, on: StoreWork): Promise<Outcome> {
  if (await discardImport(importDeps(on), userId)) {
    const text = `What the import of ${email} had left is removed.`;
    return { ok: true, json: { email, userId, discarded: true }, text };
  }
  return refused(
    'nothing_to_discard',
    `No import of ${email} was cut off here. A user that is here is removed with "signalbox user ` +
      `delete ${email}".`,
  );
}

function importDeps({ store, settings }: StoreWork): ImportDeps {
  return {
    store,
    pid: process.pid,
    isAlive,
    heard: (userId) => gatewayHeard(store, settings.dataDir, userId),
  };
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

// prettier-ignore
const refusals: Readonly<Record<ImportRefusal, (email: string, file: string) => string>> = {
  email_taken:      (email) => `There is a user ${email} here already. Nothing is ever merged: delete the one that is not wanted with "signalbox user delete ${email}".`,
  user_exists:      (email) => `The user of this file is here already, under another email than ${email}. "signalbox user list" shows who there is.`,
  import_under_way: (email) => `Another import of ${email} is under way. Wait until it has ended.`,
  leftovers:        (email) => `${email} was deleted here, and not all that it left is removed yet. A running gateway does that within minutes: try again then.`,
  gateway_silent:   (email, file) => `The gateway does not take in what came, and ${email} is not here yet. Look at its /readyz and its log, then run "signalbox user import ${file}" again.`,
};

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
