/** Commands that ask at a terminal. */
import { PassThrough } from 'node:stream';
import t from 'tap';
import { runProgram } from '../../src/cli/program.js';
import { dataDirOf } from '../support/gateway.js';
import { programToRead, runInProcess } from '../support/in-process.js';
import { addUsers } from '../support/users.js';

const ann = 'ann@example.com';

/** Runs the command at a terminal, and types one of these lines each time it asks. */
async function atTerminal(args: readonly string[], lines: readonly string[] = []) {
  /** Whether typed text is shown: one entry for each question, and one when the echo is restored. */
  const shown: boolean[] = [];
  let isEchoing = true;
  const input = Object.assign(new PassThrough(), {
    isTTY: true,
    setRawMode(isRaw: boolean) {
      if (!isEchoing && !isRaw) shown.push(true);
      isEchoing = !isRaw;
    },
  });
  const typed = [...lines];
  let [stdout, stderr] = ['', ''];
  const code = await runProgram(args, {
    stdout: (text) => void (stdout += text),
    activity: (text) => void (stdout += text),
    stderr(text) {
      stderr += text;
      if (!text.endsWith(': ')) return;
      shown.push(isEchoing);
      const line = typed.shift();
      if (line === undefined) input.end();
      else input.write(`${line}\n`);
    },
    stdin: () => input,
    isTTY: true,
    env: process.env,
  });
  return { code, stdout, stderr, untyped: typed, shown };
}

async function emails(dataDir: string): Promise<string[]> {
  const { stdout } = await runInProcess(['user', 'list', '--json', '--data-dir', dataDir]);
  return (JSON.parse(stdout) as { email: string }[]).map(({ email }) => email);
}

t.test('a user is deleted only when its email is typed again', async (t) => {
  const dataDir = dataDirOf(t);
  await addUsers(dataDir, [ann]);
  const args = ['user', 'delete', ann, '--data-dir', dataDir];
  for (const lines of [['y'], ['bob@example.com'], [''], []]) {
    const { code, stderr } = await atTerminal(args, lines);
    t.equal(code, 1);
    t.match(stderr, /ann@example\.com for good.*Nothing was deleted/s);
    t.same(await emails(dataDir), [ann]);
  }
  t.match(await atTerminal(args, ['Ann@example.com']), { code: 0, stdout: /is deleted/ });
  t.same(await emails(dataDir), []);
});

t.test('nothing is asked in a script, and not with --yes', async (t) => {
  const dataDir = dataDirOf(t);
  await addUsers(dataDir, [ann, 'bob@example.com']);
  const script = await runInProcess(['user', 'delete', ann, '--data-dir', dataDir]);
  t.match(script, { code: 0, stderr: '' });
  const typed = await atTerminal([
    'user',
    'delete',
    'bob@example.com',
    '--yes',
    '--data-dir',
    dataDir,
  ]);
  t.match(typed, { code: 0, stderr: '' });
});

t.test(
  'a password of a wrong length is refused before it is asked for again, in the same words',
  async (t) => {
    const dataDir = dataDirOf(t);
    const args = ['user', 'add', ann, '--plan', 'business', '--data-dir', dataDir];
    for (const password of ['short', 'x'.repeat(129)]) {
      const typed = await atTerminal(args, [password, password]);
      t.same(typed.untyped, [password], 'the second is not asked for');
      const given = await runInProcess([...args, '--password-stdin'], password);
      const words = `A password needs 8 to 128 characters; this one has ${password.length}.\n`;
      t.equal(given.stderr, words);
      t.ok(typed.stderr.endsWith(words), typed.stderr);
      t.match([typed.code, given.code], [1, 1]);
    }
  },
);

t.test(
  'what is typed is not shown from the question for a password to the last answer',
  async (t) => {
    const add = ['user', 'add', ann, '--plan', 'business', '--data-dir', dataDirOf(t)];
    const set = ['user', 'set', ann, '--password-stdin', ...add.slice(-2)];
    for (const command of [add, set]) {
      const typed = await atTerminal(command, ['correct horse', 'correct horse']);
      t.equal(typed.code, 0);
      t.same(typed.shown, [false, false, true], 'at both questions, and then it is again');
    }
  },
);

t.test('a password that is pasted twice at once is taken', async (t) => {
  const add = ['user', 'add', ann, '--plan', 'business', '--data-dir', dataDirOf(t)];
  const pasted = await atTerminal(add, ['correct horse\ncorrect horse']);
  t.match(pasted, { code: 0, stdout: /is made/ });
});

t.test(
  'nothing is asked in vain of a user that is there already, or that there is not',
  async (t) => {
    const dataDir = dataDirOf(t);
    await addUsers(dataDir, [ann]);
    const add = ['user', 'add', 'Ann@example.com', '--plan', 'business', '--data-dir', dataDir];
    t.match(await atTerminal(add), { code: 1, stderr: /^There is a user ann@example\.com here/ });
    const other = ['user', 'delete', 'bob@example.com', '--data-dir', dataDir];
    t.match(await atTerminal(other), { code: 1, stderr: /^There is no user "bob@example\.com"/ });
  },
);

t.test('the help of the demo names the defaults that the demo has', async (t) => {
  const demo = (await programToRead()).commands.find((command) => command.name() === 'demo');
  const help = demo?.helpInformation() ?? '';
  t.match(
    help.replace(/\s+/g, ' '),
    /--port .*default: any free port.*--ops-port .*default: any free port/,
  );
  t.match(help.replace(/\s+/g, ' '), /--data-dir .*default: a temporary directory/);
  t.notMatch(help, /8080|9464/);
});
