/** `signalbox user set`: changes a user. */
import { type Command, Option } from 'commander';
import { withoutUndefined } from '../lib/without-undefined.js';
import type { Settings } from '../settings.js';
import {
  describeCommand,
  misused,
  type Outcome,
  type SharedOptions,
  withSettings,
} from './command.js';
import type { Io } from './io.js';
import { operate } from './operate.js';
import { passwordOption, readPasswordHash } from './password-input.js';
import { movingText, toUserView } from './user-text.js';

type Flag = 'true' | 'false';

interface Options extends SharedOptions {
  readonly plan?: string;
  readonly frozen?: Flag;
  readonly confirmed?: Flag;
  readonly passwordStdin?: boolean;
}

export function userSetCommand(io: Io): Command {
  return describeCommand({
    usage: 'set <EMAIL>',
    summary: 'change plan, state or password of a user',
    description:
      'Changes what the options name and leaves the rest. A frozen user can log in, read and ' +
      'cancel; new signals are refused, and accepted signals that were not sent yet are denied. A new ' +
      'password ends all logins and sessions of the user; API keys stay valid.',
    examples: [
      'signalbox user set ann@example.com --plan business',
      'signalbox user set ann@example.com --frozen true',
      'signalbox user set ann@example.com --password-stdin < password.txt',
    ],
  })
    .option('--plan <PLAN>', 'plan of the user: basic, business or one of the config file')
    .addOption(flagOption('--frozen', 'whether signals of the user are refused'))
    .addOption(flagOption('--confirmed', 'whether the email address counts as confirmed'))
    .option(...passwordOption)
    .action(
      withSettings(io, (settings, email: string, options: Options) =>
        change(io, settings, email, options),
      ),
    );
}

function flagOption(flag: string, description: string): Option {
  return new Option(`${flag} <true|false>`, description).choices([
    'true',
    'false',
  ] satisfies Flag[]);
}

async function change(
  io: Io,
  settings: Settings,
  email: string,
  { plan, frozen, confirmed, passwordStdin }: Options,
): Promise<Outcome> {
  if (plan === undefined && frozen === undefined && confirmed === undefined && !passwordStdin) {
    return misused('Say what to change: --plan, --frozen, --confirmed or --password-stdin.');
  }
  const passwordHash = passwordStdin ? await readPasswordHash(io, { passwordStdin }) : undefined;
  if (typeof passwordHash === 'object') return passwordHash;

  const changed = {
    plan,
    frozen: frozen && frozen === 'true',
    confirmed: confirmed && confirmed === 'true',
    passwordHash,
  };
  const request = { email, ...withoutUndefined(changed) };
  return operate(io, settings, 'user.set', request, ({ user, isMoving }) => {
    const changes = [
      ...(plan === undefined ? [] : [`plan ${user.plan}`]),
      ...(frozen === undefined ? [] : [frozenText(frozen, user.frozen)]),
      ...(confirmed === undefined ? [] : [confirmed === 'true' ? 'confirmed' : 'not confirmed']),
      ...(passwordHash === undefined ? [] : ['a new password; its logins and sessions have ended']),
    ];
    return {
      ok: true,
      json: toUserView(user),
      text: `User ${user.email} is changed: ${changes.join(', ')}.${movingText(isMoving)}`,
    };
  });
}

function frozenText(wanted: Flag, isFrozen: boolean): string {
  if (wanted === 'true') return 'frozen';
  return isFrozen
    ? 'no longer being moved, but still frozen as before the move; run the same command again to end the freeze'
    : 'not frozen';
}
