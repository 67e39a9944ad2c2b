/** The whole command line: every command in its place, and one way of ending for all of them. */
import { Command, CommanderError } from 'commander';
import { readVersion } from '../version.js';
import { errorJson, examplesText, exitCodes } from './command.js';
import type { Io } from './io.js';

type Load = (io: Io) => Command | Promise<Command>;

interface Group {
  readonly summary: string;
  readonly description: string;
  readonly members: Readonly<Record<string, Load>>;
}

/**
 * By name, in the order of the help. Each is loaded when it is used: it then starts in half
 * the time, and none but those that serve needs the native server.
 */
const commands: Readonly<Record<string, Load | Group>> = {
  serve: async (io) => (await import('./serve.js')).serveCommand(io),
  demo: async (io) => (await import('./demo.js')).demoCommand(io),
  user: {
    summary: 'users: add, list, show, set, cancel-all, delete, export, import',
    description: 'Adds, shows, changes, moves and deletes users.',
    members: {
      add: async (io) => (await import('./user-add.js')).userAddCommand(io),
      list: async (io) => (await import('./user-list.js')).userListCommand(io),
      show: async (io) => (await import('./user-show.js')).userShowCommand(io),
      set: async (io) => (await import('./user-set.js')).userSetCommand(io),
      'cancel-all': async (io) => (await import('./user-cancel-all.js')).userCancelAllCommand(io),
      delete: async (io) => (await import('./user-delete.js')).userDeleteCommand(io),
      export: async (io) => (await import('./user-export.js')).userExportCommand(io),
      import: async (io) => (await import('./user-import.js')).userImportCommand(io),
    },
  },
  key: {
    summary: 'API keys of the users: add, list, revoke',
    description: 'Makes, lists and revokes the API keys of the users.',
    members: {
      add: async (io) => (await import('./key-add.js')).keyAddCommand(io),
      list: async (io) => (await import('./key-list.js')).keyListCommand(io),
      revoke: async (io) => (await import('./key-revoke.js')).keyRevokeCommand(io),
    },
  },
  session: {
    summary: 'sessions of terminal plugins: list, revoke',
    description: 'Lists and ends the sessions of terminal plugins.',
    members: {
      list: async (io) => (await import('./session-list.js')).sessionListCommand(io),
      revoke: async (io) => (await import('./session-revoke.js')).sessionRevokeCommand(io),
    },
  },
  signal: {
    summary: 'signals of the users: list, show',
    description: 'Lists the signals of the users, and shows one with its user and its outcome.',
    members: {
      list: async (io) => (await import('./signal-list.js')).signalListCommand(io),
      show: async (io) => (await import('./signal-show.js')).signalShowCommand(io),
    },
  },
  api: {
    summary: 'the Public API: enable, disable',
    description: 'Switches the Public API on and off.',
    members: {
      enable: async (io) => (await import('./api-switch.js')).apiSwitchCommand(io, 'enable'),
      disable: async (io) => (await import('./api-switch.js')).apiSwitchCommand(io, 'disable'),
    },
  },
  halt: async (io) => (await import('./trading-switch.js')).haltCommand(io),
  resume: async (io) => (await import('./trading-switch.js')).resumeCommand(io),
  config: async (io) => (await import('./config.js')).configCommand(io),
  backup: async (io) => (await import('./backup.js')).backupCommand(io),
  doctor: async (io) => (await import('./doctor.js')).doctorCommand(io),
  stats: async (io) => (await import('./stats.js')).statsCommand(io),
  openapi: async (io) => (await import('./openapi.js')).openapiCommand(io),
  fix: async (io) => (await import('./fix.js')).fixCommand(io),
  terminal: async (io) => (await import('./terminal.js')).terminalCommand(io),
  conformance: async (io) => (await import('./conformance.js')).conformanceCommand(io),
};

/** Runs one command line. @returns its exit code, when all of it is done. */
export async function runProgram(
  args: readonly string[],
  io: Omit<Io, 'exitCode'>,
): Promise<number> {
  let exitCode: number = exitCodes.done;
  const setExitCode = (code: number): void => void (exitCode = code);
  const program = await createProgram({ ...io, exitCode: setExitCode }, args[0], args[1]);
  try {
    await program.parseAsync(args, { from: 'user' });
    return exitCode;
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    // commander has printed the help or what was wrong.
    if (error.exitCode === 0) return exitCodes.done;
    if (args.includes('--json')) io.stdout(errorJson('usage', error.message));
    return exitCodes.usage;
  }
}

/**
 * @param word first word of the command line: loads that command, or all where there is no such command.
 * @param member second word, which selects the member of a group in the same way.
 */
export async function createProgram(io: Io, word?: string, member?: string): Promise<Command> {
  const program = new Command('signalbox')
    .description(
      'A self-hosted gateway for trading signals: bots send them by HTTP, terminal plugins carry ' +
        'them out. The commands for users, keys and switches work whether or not the gateway is ' +
        'running: a running gateway carries them out itself. They are in effect when they end.',
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
  for (const [name, entry] of word === '--version' ? [] : meant(commands, word)) {
    const isGroup = typeof entry === 'object';
    program.addCommand(await (isGroup ? loadGroup(io, name, entry, member) : entry(io)));
  }
  prepare(program, io);
  return program;
}

function meant<T>(table: Readonly<Record<string, T>>, word = ''): [string, T][] {
  const entries = Object.entries(table);
  const named = entries.filter(([name]) => name === word);
  return named.length > 0 ? named : entries;
}

async function loadGroup(
  io: Io,
  name: string,
  { summary, description, members }: Group,
  word: string | undefined,
): Promise<Command> {
  const group = new Command(name).summary(summary).description(description);
  for (const [, load] of meant(members, word)) group.addCommand(await load(io));
  const [first = ''] = Object.keys(members);
  return group.addHelpText('after', examplesText([`signalbox ${name} ${first} --help`]));
}

/** commander ends the process with 1 for wrong usage; here the caller sets another code. */
function prepare(command: Command, io: Io): void {
  command
    .exitOverride()
    .configureOutput({ writeOut: (text) => io.stdout(text), writeErr: (text) => io.stderr(text) })
    .showHelpAfterError('Add --help to the command to see how it is used.');
  for (const child of command.commands) prepare(child, io);
}
