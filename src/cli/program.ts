/** The whole command line: every command in its place, and one way of ending for all of them. */
import { Command } from 'commander';
import { readVersion } from '../version.js';
import { examplesText } from './command.js';

type Load = () => Command | Promise<Command>;

interface Group {
  readonly summary: string;
  readonly members: Readonly<Record<string, Load>>;
}

/**
 * By their words, in the order of the help. Each is loaded when it is asked for: it then starts in half
 * the time, and none but those that serve needs the native server.
 */
const commands: Readonly<Record<string, Load | Group>> = {
  serve: async () => (await import('./serve.js')).serveCommand(),
  demo: async () => (await import('./demo.js')).demoCommand(),
  user: {
    summary: 'users: add, list, show, set, delete, export, import',
    members: {
      add: async () => (await import('./user-add.js')).userAddCommand(),
      list: async () => (await import('./user-list.js')).userListCommand(),
      show: async () => (await import('./user-show.js')).userShowCommand(),
      set: async () => (await import('./user-set.js')).userSetCommand(),
      delete: async () => (await import('./user-delete.js')).userDeleteCommand(),
      export: async () => (await import('./user-export.js')).userExportCommand(),
      import: async () => (await import('./user-import.js')).userImportCommand(),
    },
  },
  key: {
    summary: 'API keys of the users: list, revoke',
    members: {
      list: async () => (await import('./key-list.js')).keyListCommand(),
      revoke: async () => (await import('./key-revoke.js')).keyRevokeCommand(),
    },
  },
  session: {
    summary: 'sessions of terminal plugins: revoke',
    members: {
      revoke: async () => (await import('./session-revoke.js')).sessionRevokeCommand(),
    },
  },
  api: {
    summary: 'the Public API: enable, disable',
    members: {
      enable: async () => (await import('./api-switch.js')).apiEnableCommand(),
      disable: async () => (await import('./api-switch.js')).apiDisableCommand(),
    },
  },
  config: async () => (await import('./config.js')).configCommand(),
  backup: async () => (await import('./backup.js')).backupCommand(),
  doctor: async () => (await import('./doctor.js')).doctorCommand(),
  stats: async () => (await import('./stats.js')).statsCommand(),
  openapi: async () => (await import('./openapi.js')).openapiCommand(),
  terminal: async () => (await import('./terminal.js')).terminalCommand(),
};

/**
 * @param word the command's first word; for any other, as for none, all commands are there.
 * @param member the second one, of a group in the same way.
 */
export async function createProgram(word?: string, member?: string): Promise<Command> {
  const program = new Command('signalbox')
    .description(
      'A self-hosted gateway for trading signals: bots send them by HTTP, terminal plugins carry ' +
        'them out. The commands for users, keys and switches work on the data directory, whether ' +
        'or not the gateway is running, and a running gateway obeys at once.',
    )
    .version(readVersion(), '--version', 'print the version')
    .addHelpText(
      'after',
      examplesText([
        'signalbox user add ann@example.com --plan business',
        'signalbox serve',
        'signalbox user add --help',
      ]),
    );
  for (const [name, entry] of meant(commands, word)) {
    const isGroup = typeof entry === 'object';
    program.addCommand(await (isGroup ? loadGroup(name, entry, member) : entry()));
  }
  throwOnExit(program);
  return program;
}

function meant<T>(table: Readonly<Record<string, T>>, word = ''): [string, T][] {
  const entries = Object.entries(table);
  const named = entries.filter(([name]) => name === word);
  return named.length > 0 ? named : entries;
}

async function loadGroup(
  name: string,
  { summary, members }: Group,
  word: string | undefined,
): Promise<Command> {
  const group = new Command(name).summary(summary).description(`For the ${summary}.`);
  for (const [, load] of meant(members, word)) group.addCommand(await load());
  const [first = ''] = Object.keys(members);
  return group.addHelpText('after', examplesText([`signalbox ${name} ${first} --help`]));
}

/** commander ends with 1 for wrong usage; ours is another number, and the entry's to set. */
function throwOnExit(command: Command): void {
  command.exitOverride().showHelpAfterError('Add --help to the command to see how it is used.');
  command.commands.forEach(throwOnExit);
}
