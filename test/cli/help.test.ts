import type { Command } from 'commander';
import t from 'tap';
import { signalboxIn, programToRead } from '../support/in-process.js';
import {} from '../support/gateway-process.js';

/** The commands of the contract's section 1, by their full names. */
const contractCommands = [
  'serve',
  'demo',
  'user add',
  'user cancel-all',
  'user list',
  'user show',
  'user delete',
  'user set',
  'key add',
  'key list',
  'key revoke',
  'session list',
  'session revoke',
  'signal list',
  'signal show',
  'api enable',
  'api disable',
  'halt',
  'resume',
  'config',
  'backup',
  'doctor',
  'openapi',
  'terminal',
  'fix',
  'conformance',
];
/** Commands that operators have beside those of the contract. */
const furtherCommands = ['stats', 'user export', 'user import'];

t.test('wrong usage is JSON with --json', async (t) => {
  const { code, stdout } = await signalboxIn(t.testdir(), ['key', 'list', '--json', '--nonsense']);
  t.equal(code, 2);
  t.match(JSON.parse(stdout), { error: { code: 'usage', message: /unknown option/ } });
});

function leaves(command: Command, path: readonly string[] = []): [string, Command][] {
  return command.commands.flatMap((child): [string, Command][] => {
    const childPath = [...path, child.name()];
    return child.commands.length > 0 ? leaves(child, childPath) : [[childPath.join(' '), child]];
  });
}

/** @returns what `--help` prints, examples included. */
function helpOf(command: Command): string {
  let text = '';
  command.configureOutput({ writeOut: (part) => (text += part) });
  command.outputHelp();
  return text;
}

t.test(
  'the commands are those of the contract, and no others but the ones named here',
  async (t) => {
    const names = leaves(await programToRead()).map(([name]) => name);
    t.same(names.sort(), [...contractCommands, ...furtherCommands].sort());
  },
);

t.test(
  'the help of every command says what it does, shows an example and every option',
  async (t) => {
    for (const [name, command] of leaves(await programToRead())) {
      const help = helpOf(command);
      t.ok(command.description().length > 40, `${name} is described`);
      t.match(help, new RegExp(`Examples?:[^]*signalbox ${name}`), `${name} has an example`);
      t.match(help, /--json/, `${name} can print JSON`);
      for (const option of command.options) t.ok(option.description.length > 10, option.flags);
    }
  },
);

t.test('help and version go to standard output with exit code 0', async (t) => {
  const help = await signalboxIn('unused', ['user', 'add', '--help']);
  t.equal(help.code, 0);
  t.match(help.stdout, /Usage: signalbox user add/);
  t.equal(help.stderr, '');
  for (const word of ['--help', 'help']) {
    t.match(
      (await signalboxIn('unused', [word])).stdout,
      /serve[^]*demo[^]*user[^]*terminal/,
      word,
    );
  }
  const version = await signalboxIn('unused', ['--version']);
  t.equal(version.code, 0);
  t.match(version.stdout, /^[0-9]+\.[0-9]+\.[0-9]+\n$/);
});

t.test(
  'a mistake in the usage is exit code 2, with a word of help on standard error',
  async (t) => {
    const dataDir = t.testdir();
    const mistakes = [
      [],
      ['usr', 'list'],
      ['user', 'lst'],
      ['user', 'add'],
      ['user', 'add', 'ann@example.com'],
      ['user', 'list', 'too', 'many'],
      ['user', 'list', '--jason'],
      ['user', 'set', 'ann@example.com', '--frozen', 'yes'],
      ['user', 'set', 'ann@example.com', '--frozen'],
      ['serve', '--prot', '80'],
    ];
    for (const args of mistakes) {
      const { code, stdout, stderr } = await signalboxIn(dataDir, args);
      t.equal(code, 2, args.join(' '));
      t.equal(stdout, '');
      t.match(stderr, /--help/);
    }
  },
);
