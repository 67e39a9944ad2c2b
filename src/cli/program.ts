/** The whole command line: every command in its place, and one way of ending for all of them. */
import { Command } from 'commander';
import { readVersion } from '../version.js';
import { apiDisableCommand, apiEnableCommand } from './api-switch.js';
import { backupCommand } from './backup.js';
import { examplesText } from './command.js';
import { configCommand } from './config.js';
import { doctorCommand } from './doctor.js';
import { keyListCommand } from './key-list.js';
import { keyRevokeCommand } from './key-revoke.js';
import { serveCommand } from './serve.js';
import { sessionRevokeCommand } from './session-revoke.js';
import { statsCommand } from './stats.js';
import { userAddCommand } from './user-add.js';
import { userDeleteCommand } from './user-delete.js';
import { userExportCommand } from './user-export.js';
import { userImportCommand } from './user-import.js';
import { userListCommand } from './user-list.js';
import { userSetCommand } from './user-set.js';
import { userShowCommand } from './user-show.js';

/**
 * By their first word, in the order of the help. Those that bring half the product with them are
 * loaded when they are asked for: the others then start in half the time, and work without the
 * native server.
 */
const commands: Readonly<Record<string, () => Command | Promise<Command>>> = {
  serve: serveCommand,
  demo: async () => (await import('./demo.js')).demoCommand(),
  user: () =>
    group('user', 'users: add, list, show, set, delete, export, import', [
      userAddCommand(),
      userListCommand(),
      userShowCommand(),
      userSetCommand(),
      userDeleteCommand(),
      userExportCommand(),
      userImportCommand(),
    ]),
  key: () =>
    group('key', 'API keys of the users: list, revoke', [keyListCommand(), keyRevokeCommand()]),
  session: () => group('session', 'sessions of terminal plugins: revoke', [sessionRevokeCommand()]),
  api: () =>
    group('api', 'the Public API: enable, disable', [apiEnableCommand(), apiDisableCommand()]),
  config: configCommand,
  backup: backupCommand,
  doctor: doctorCommand,
  stats: statsCommand,
  openapi: async () => (await import('./openapi.js')).openapiCommand(),
  terminal: async () => (await import('./terminal.js')).terminalCommand(),
};

/** @param word the command's first word; for any other, as for none, all commands are there. */
export async function createProgram(word = ''): Promise<Command> {
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
  const wanted = Object.hasOwn(commands, word) ? [word] : Object.keys(commands);
  for (const name of wanted) {
    const create = commands[name];
    if (create !== undefined) program.addCommand(await create());
  }
  throwOnExit(program);
  return program;
}

function group(name: string, summary: string, members: readonly Command[]): Command {
  const parent = new Command(name).summary(summary).description(`For the ${summary}.`);
  for (const member of members) parent.addCommand(member);
  return parent.addHelpText(
    'after',
    examplesText([`signalbox ${name} ${members[0]?.name() ?? ''} --help`]),
  );
}

/** commander ends with 1 for wrong usage; ours is another number, and the entry's to set. */
function throwOnExit(command: Command): void {
  command.exitOverride().showHelpAfterError('Add --help to the command to see how it is used.');
  command.commands.forEach(throwOnExit);
}
