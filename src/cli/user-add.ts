/** `signalbox user add`: a new user, also before the gateway's first start. */
import type { Command } from 'commander';
import { addUser } from '../auth/accounts.js';
import { isEmail } from '../auth/email.js';
import { createIdSource } from '../lib/ids.js';
import type { Settings } from '../settings.js';
import {
  describeCommand,
  finish,
  type Outcome,
  refused,
  settingsFor,
  type SharedOptions,
} from './command.js';
import { type StoreWork, withStore } from './on-store.js';
import { passwordOption, readPasswordHash } from './password-input.js';
import { toUserView, unknownPlan } from './user-text.js';

interface Options extends SharedOptions {
  readonly plan: string;
  readonly unconfirmed?: boolean;
  readonly passwordStdin?: boolean;
}

export function userAddCommand(): Command {
  return describeCommand({
    usage: 'add <EMAIL>',
    summary: 'make a new user',
    description:
      'Makes a user who can log in with this email and a password, which is asked for at the ' +
      'terminal or read from standard input. The data directory is made if it does not exist yet.',
    examples: [
      'signalbox user add ann@example.com --plan business',
      'signalbox user add ann@example.com --plan business --password-stdin < password.txt',
    ],
  })
    .requiredOption('--plan <PLAN>', 'plan of the user: basic, business or one of the config file')
    .option('--unconfirmed', 'the email address is not confirmed: the user cannot log in yet')
    .option(...passwordOption)
    .action(async (email: string, options: Options) => {
      const settings = settingsFor(options);
      if (settings !== undefined) finish(await add(email, options, settings), options);
    });
}

/** Nothing is made, not even the data directory, before all that was given is known to be good. */
async function add(email: string, options: Options, settings: Settings): Promise<Outcome> {
  const { plan, unconfirmed = false } = options;
  if (!Object.hasOwn(settings.plans, plan)) return unknownPlan(plan, Object.keys(settings.plans));
  if (!isEmail(email.trim())) return invalidEmail(email);
  const passwordHash = await readPasswordHash(options);
  if (typeof passwordHash !== 'string') return passwordHash;

  const work = async ({ store, clock }: StoreWork): Promise<Outcome> => {
    const user = await addUser(store, createIdSource(clock), {
      email,
      plan,
      passwordHash,
      confirmed: !unconfirmed,
      now: clock.now(),
    });
    if (user === 'invalid_email') return invalidEmail(email);
    if (user === 'email_taken') {
      return refused(
        user,
        `There is a user ${email} already. Change it with "signalbox user set ${email}".`,
      );
    }
    const state = user.confirmed ? '' : ', not confirmed: it cannot log in yet';
    return {
      ok: true,
      json: toUserView(user),
      text: `User ${user.email} is made, with plan ${user.plan}${state}.`,
    };
  };
  return withStore(settings, work, 'create');
}

function invalidEmail(email: string): Outcome {
  return refused('invalid_email', `${JSON.stringify(email)} is not an email address.`);
}
