/** The whole command line: every command in its place, and one way of ending for all of them. */
import { readFileSync } from 'node:fs';
import { Command } from 'commander';
import { apiDisableCommand, apiEnableCommand } from './api-switch.js';
import { examplesText } from './command.js';
import { configCommand } from './config.js';
import { keyListCommand } from './key-list.js';
import { keyRevokeCommand } from './key-revoke.js';
import { serveCommand } from './serve.js';
import { sessionRevokeCommand } from './session-revoke.js';
import { userAddCommand } from './user-add.js';
import { userDeleteCommand } from './user-delete.js';
import { userListCommand } from './user-list.js';
import { userSetCommand } from './user-set.js';
import { userShowCommand } from './user-show.js';

export function createProgram(): Command {
  const program = new Command('signalbox')
    .description(
      'A self-hosted gateway for trading signals: bots send them by HTTP, terminal plugins carry ' +
        'them out. The commands for users, keys and switches work on the data directory, whether ' +
        'or not the gateway is running, and a running gateway obeys at once.',
    )
    .version(readVersion(), '--version', 'print the version')
    .addCommand(serveCommand())
    .addCommand(
      group('user', 'users: add, list, show, set, delete', [
        userAddCommand(),
        userListCommand(),
        userShowCommand(),
        userSetCommand(),
        userDeleteCommand(),
      ]),
    )
    .addCommand(
      group('key', 'API keys of the users: list, revoke', [keyListCommand(), keyRevokeCommand()]),
    )
    .addCommand(group('session', 'sessions of terminal plugins: revoke', [sessionRevokeCommand()]))
    .addCommand(
      group('api', 'the Public API: enable, disable', [apiEnableCommand(), apiDisableCommand()]),
    )
    .addCommand(configCommand())
    .addHelpText(
      'after',
      examplesText([
        'signalbox user add ann@example.com --plan business',
        'signalbox serve',
        'signalbox user add --help',
      ]),
    );
  throwOnExit(program);
  return program;
}

function group(name: string, summary: string, commands: readonly Command[]): Command {
  const parent = new Command(name).summary(summary).description(`For the ${summary}.`);
  parent.addHelpText(
    'after',
    examplesText([`signalbox ${name} ${commands[0]?.name() ?? ''} --help`]),
  );
  for (const command of commands) parent.addCommand(command);
  return parent;
}

/** commander ends with 1 for wrong usage; ours is another number, and the entry's to set. */
function throwOnExit(command: Command): void {
  command.exitOverride().showHelpAfterError('Add --help to the command to see how it is used.');
  command.commands.forEach(throwOnExit);
}

function readVersion(): string {
  const text = readFileSync(new URL('../../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}
