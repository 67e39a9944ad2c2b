/** `signalbox user set`: changes a user; a running gateway obeys at once. */
import { type Command, Option } from 'commander';
import { findUser, setUser, type UserChange } from '../auth/accounts.js';
import { describeCommand, misused, type Outcome, type SharedOptions } from './command.js';
import { onStore, type StoreWork } from './on-store.js';
import { passwordOption, readPasswordHash } from './password-input.js';
import { toUserView, unknownPlan, userNotFound } from './user-text.js';

type Flag = 'true' | 'false';

interface Options extends SharedOptions {
  readonly plan?: string;
  readonly frozen?: Flag;
  readonly confirmed?: Flag;
  readonly passwordStdin?: boolean;
}

export function userSetCommand(): Command {
  return describeCommand({
    usage: 'set <EMAIL>',
    summary: 'change plan, state or password of a user',
    description:
      'Changes what is given and leaves the rest. A frozen user can log in and read, but gets no ' +
      'signal accepted. A new password ends all logins and sessions of the user; API keys stay.',
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
    .action((email: string, options: Options) =>
      onStore(options, (on) => change(email, options, on)),
    );
}

function flagOption(flag: string, description: string): Option {
  return new Option(`${flag} <true|false>`, description).choices([
    'true',
    'false',
  ] satisfies Flag[]);
}

async function change(
  email: string,
  { plan, frozen, confirmed, passwordStdin }: Options,
  { store, settings }: StoreWork,
): Promise<Outcome> {
  if (plan === undefined && frozen === undefined && confirmed === undefined && !passwordStdin) {
    return misused('Say what to change: --plan, --frozen, --confirmed or --password-stdin.');
  }
  if (plan !== undefined && !Object.hasOwn(settings.plans, plan)) {
    return unknownPlan(plan, Object.keys(settings.plans));
  }
  // Before a password is asked for; the change itself looks again.
  if (findUser(store, email) === undefined) return userNotFound(email);
  const passwordHash = passwordStdin ? await readPasswordHash({ passwordStdin }) : undefined;
  if (typeof passwordHash === 'object') return passwordHash;

  const wanted: UserChange = {
    plan,
    passwordHash,
    frozen: toBoolean(frozen),
    confirmed: toBoolean(confirmed),
  };
  const user = await setUser(store, email, wanted);
  if (user === undefined) return userNotFound(email);
  const changes = [
    ...(plan === undefined ? [] : [`plan ${user.plan}`]),
    ...(frozen === undefined ? [] : [user.frozen ? 'frozen' : 'not frozen']),
    ...(confirmed === undefined ? [] : [user.confirmed ? 'confirmed' : 'not confirmed']),
    ...(passwordHash === undefined ? [] : ['a new password; its logins and sessions have ended']),
  ];
  return {
    ok: true,
    json: toUserView(user),
    text: `User ${user.email} is changed: ${changes.join(', ')}.`,
  };
}

function toBoolean(flag: Flag | undefined): boolean | undefined {
  return flag === undefined ? undefined : flag === 'true';
}
