/** `signalbox user add`: a new user, also before the gateway's first start. */
import type { Command } from 'commander';
import { isEmail } from '../auth/email.js';
import type { Settings } from '../settings.js';
import { gatewayOn } from '../store/directory-lock.js';
import { describeCommand, type Outcome, type SharedOptions, withSettings } from './command.js';
import type { Io } from './io.js';
import { operate } from './operate.js';
import { passwordOption, readPasswordHash } from './password-input.js';
import { refusalOutcome } from './refusals.js';
import { toUserView } from './user-text.js';

interface Options extends SharedOptions {
  readonly plan: string;
  readonly unconfirmed?: boolean;
  readonly passwordStdin?: boolean;
}

export function userAddCommand(io: Io): Command {
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
    .action(
      withSettings(io, (settings, email: string, options: Options) =>
        add(io, settings, email, options),
      ),
    );
}

/** Nothing is made, not even the data directory, before all that was given is known to be good. */
async function add(io: Io, settings: Settings, email: string, options: Options): Promise<Outcome> {
  const { plans, dataDir, mistakes } = settings;
  const { plan, unconfirmed = false } = options;
  // A running gateway has plans of its own; without one, a password need not be asked for in vain.
  const isJudge = mistakes.length === 0 && gatewayOn(dataDir) === undefined;
  if (isJudge && !Object.hasOwn(plans, plan)) {
    return refusalOutcome({ refused: 'unknown_plan', plan, known: Object.keys(plans) });
  }
  if (!isEmail(email.trim())) return refusalOutcome({ refused: 'invalid_email', email });
  if (options.passwordStdin !== true) {
    const taken = await operate(io, settings, 'user.show', { email }, ({ user }) =>
      refusalOutcome({ refused: 'email_taken', email: user.email }),
    );
    if (!taken.ok && taken.code === 'email_taken') return taken;
  }
  const passwordHash = await readPasswordHash(io, options);
  if (typeof passwordHash !== 'string') return passwordHash;

  const request = { email, plan, passwordHash, confirmed: !unconfirmed };
  return operate(io, settings, 'user.add', request, ({ user }) => {
    const state = user.confirmed ? '' : ', not confirmed: it cannot log in yet';
    return {
      ok: true,
      json: toUserView(user),
      text: `User ${user.email} is made, with plan ${user.plan}${state}.`,
    };
  });
}
