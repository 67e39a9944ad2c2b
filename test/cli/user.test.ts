import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { dataDirOf } from '../support/gateway.js';
import { password } from '../support/gateway-process.js';
import { type CliResult, signalboxIn as cli } from '../support/in-process.js';
import { addUsers } from '../support/users.js';

const ann = 'ann@example.com';

async function json(dataDir: string, args: readonly string[]): Promise<any> {
  const { code, stdout, stderr } = await cli(dataDir, [...args, '--json']);
  if (code !== 0) throw new Error(stderr);
  return JSON.parse(stdout);
}

t.test(
  'a user can be added before the first start; the data directory is made, and private',
  async (t) => {
    const dataDir = dataDirOf(t);
    const args = ['user', 'add', ann, '--plan', 'business', '--password-stdin'];
    const { code, stdout, stderr } = await cli(dataDir, args, password);
    t.equal(code, 0);
    t.equal(stdout, 'User ann@example.com is made, with plan business.\n');
    t.equal(stderr, '');
    t.equal(statSync(dataDir).mode & 0o777, 0o700);
  },
);

t.test('a user is shown and listed with plan and state, never with a hash', async (t) => {
  const dataDir = dataDirOf(t);
  await addUsers(dataDir, [ann]);
  await cli(
    dataDir,
    ['user', 'add', 'bob@example.com', '--plan', 'basic', '--unconfirmed', '--password-stdin'],
    password,
  );
  const view = {
    plan: 'business',
    confirmed: true,
    frozen: false,
    createdAt: /^\d{4}-.*Z$/,
    userId: /^usr_/,
  };
  t.match(await json(dataDir, ['user', 'list']), [
    { email: ann, ...view },
    { email: 'bob@example.com', plan: 'basic', confirmed: false },
  ]);
  t.match(await json(dataDir, ['user', 'show', 'ANN@example.com']), {
    email: ann,
    ...view,
    apiKeys: 0,
    terminals: [],
  });
  const { stdout } = await cli(dataDir, ['user', 'list']);
  const [heading = '', first = '', second = ''] = stdout.split('\n');
  t.equal(first.indexOf('business'), heading.indexOf('PLAN'), 'the columns are aligned');
  t.equal(second.indexOf('basic'), heading.indexOf('PLAN'));
  for (const args of [['list'], ['list', '--json'], ['show', ann], ['show', ann, '--json']]) {
    t.notMatch((await cli(dataDir, ['user', ...args])).stdout, /argon2|hash|generation/i);
  }
});

t.test('what is wrong with a new user is refused, and nothing is made', async (t) => {
  const dataDir = dataDirOf(t);
  const add = (email: string, plan: string, input: string): Promise<CliResult> =>
    cli(dataDir, ['user', 'add', email, '--plan', plan, '--password-stdin'], input);
  t.match(await add(ann, 'gold', password), {
    code: 1,
    stdout: '',
    stderr: /no plan "gold".*basic, business/,
  });
  t.match(await add('ann', 'basic', password), {
    code: 1,
    stderr: /"ann" is not an email address/,
  });
  t.match(await add(ann, 'basic', 'short'), { code: 1, stderr: /8 to 128 characters/ });
  t.match(await add(ann, 'basic', ''), { code: 1, stderr: /8 to 128 characters/ });
  t.match(await add(ann, 'basic', 'x'.repeat(1e6)), { code: 1, stderr: /8 to 128 characters/ });
  t.notOk(existsSync(dataDir));
  t.match(await add(ann, 'basic', password), { code: 0 });
  t.match(await add(' ANN@example.com ', 'basic', password), { code: 1, stderr: /already/ });
});

t.test('without a terminal a password comes from standard input, or not at all', async (t) => {
  const dataDir = dataDirOf(t);
  const { code, stderr } = await cli(dataDir, ['user', 'add', ann, '--plan', 'basic'], password);
  t.equal(code, 2);
  t.match(stderr, /--password-stdin/);
});

t.test('a plan of the config file can be given', async (t) => {
  const directory = t.testdir({
    'config.json': '{"plans":{"desk":{"publicApi":true,"signalsPerMinute":1,"signalsPerDay":2}}}',
  });
  const dataDir = join(directory, 'data');
  const args = [
    'user',
    'add',
    ann,
    '--plan',
    'desk',
    '--password-stdin',
    '--config',
    `${directory}/config.json`,
  ];
  t.equal((await cli(dataDir, args, password)).code, 0);
  t.match(await json(dataDir, ['user', 'show', ann]), { plan: 'desk' });
  t.match((await cli(dataDir, ['user', 'show', ann])).stdout, /desk \(not among the plans/);
});

t.test('set changes what is given, and leaves the rest', async (t) => {
  const dataDir = dataDirOf(t);
  await addUsers(dataDir, [ann]);
  const set = (...args: string[]): Promise<any> => json(dataDir, ['user', 'set', ann, ...args]);
  t.match(await set('--frozen', 'true'), { plan: 'business', frozen: true, confirmed: true });
  t.match(await set('--plan', 'basic', '--confirmed', 'false'), {
    plan: 'basic',
    frozen: true,
    confirmed: false,
  });
  t.match(await set('--frozen', 'false'), { plan: 'basic', frozen: false, confirmed: false });
  const text = await cli(dataDir, ['user', 'set', ann, '--password-stdin'], 'another horse');
  t.match(text, { code: 0, stdout: /new password; its logins and sessions have ended/ });
  t.match(await cli(dataDir, ['user', 'set', ann, '--plan', 'gold']), {
    code: 1,
    stderr: /basic, business/,
  });
  t.match(await cli(dataDir, ['user', 'set', ann, '--password-stdin'], 'short'), { code: 1 });
  t.match(await cli(dataDir, ['user', 'set', ann]), { code: 2, stderr: /what to change/ });
});

t.test('the operator can make a key before it works, and the help says so', async (t) => {
  const dataDir = dataDirOf(t);
  await cli(dataDir, ['user', 'add', ann, '--plan', 'basic', '--password-stdin'], password);
  await cli(dataDir, ['api', 'disable']);
  const key = ['key', 'add', ann, '--name', 'n', '--scopes', 'signals:read'];
  t.match(await json(dataDir, key), { key: /^svc_api_/ });
  const help = (await cli(dataDir, ['key', 'add', '--help'])).stdout.replaceAll(/\s+/g, ' ');
  t.match(help, 'before it works: while the Public API is disabled, and on a plan without it');
});

t.test('delete says what was done; the user is gone and the email free', async (t) => {
  const dataDir = dataDirOf(t);
  await addUsers(dataDir, [ann]);
  t.match(await cli(dataDir, ['user', 'delete', ann]), {
    code: 0,
    stdout: /ann@example.com is deleted/,
  });
  t.same(await json(dataDir, ['user', 'list']), []);
  t.match(await cli(dataDir, ['user', 'list']), { code: 0, stdout: /There are no users/ });
  await addUsers(dataDir, [ann]);
  t.match(await json(dataDir, ['user', 'delete', ann]), { deleted: { email: ann } });
});

t.test('a user that does not exist is exit code 1, in words and as JSON', async (t) => {
  const dataDir = dataDirOf(t);
  await addUsers(dataDir, [ann]);
  const commands = [
    ['user', 'show', 'eve@example.com'],
    ['user', 'delete', 'eve@example.com'],
    ['user', 'set', 'eve@example.com', '--frozen', 'true'],
    ['key', 'list', 'eve@example.com'],
    ['session', 'revoke', 'eve@example.com'],
  ];
  for (const args of commands) {
    const { code, stdout, stderr } = await cli(dataDir, [...args, '--json']);
    t.equal(code, 1, args.join(' '));
    t.match(stderr, /no user "eve@example.com".*user list/);
    t.match(JSON.parse(stdout), { error: { code: 'user_not_found', message: /eve/ } });
    t.equal((await cli(dataDir, args)).stdout, '');
  }
});

t.test('a directory without a store is named, and stays as it is', async (t) => {
  const directory = t.testdir({ empty: {} });
  const commands = [
    ['user', 'list'],
    ['user', 'show', ann],
    ['user', 'delete', ann],
    ['user', 'set', ann, '--frozen', 'true'],
    ['key', 'list', ann],
    ['key', 'revoke', '1'],
    ['session', 'revoke', ann],
    ['api', 'enable'],
    ['api', 'disable'],
  ];
  for (const args of commands) {
    const missing = await cli(`${directory}/missing`, args);
    t.match(missing, {
      code: 1,
      stdout: '',
      stderr: /no data directory .*\/missing\..*--data-dir/,
    });
    t.match(await cli(`${directory}/empty`, args), {
      code: 1,
      stderr: /\/empty holds no Signalbox store/,
    });
  }
  t.notOk(existsSync(`${directory}/missing`));
  t.notOk(existsSync(`${directory}/empty/data.mdb`));
});

t.test('a data directory that is none is refused in words, without a stack', async (t) => {
  const directory = t.testdir({ file: 'text', foreign: { 'data.mdb': 'not a store' } });
  const add = ['user', 'add', ann, '--plan', 'basic', '--password-stdin'];
  for (const [path, args] of [
    ['file', add],
    ['file/below', add],
    ['file', ['user', 'list']],
    ['file/below', ['user', 'list']],
    ['file/below', ['backup', `${directory}/copy`]],
    ['foreign', ['user', 'list']],
  ] as const) {
    const { code, stderr } = await cli(`${directory}/${path}`, args, password);
    t.equal(code, 1);
    t.ok(stderr.includes(`${directory}/${path}`), stderr);
    t.notMatch(stderr, /\n {4}at /);
    t.notMatch(stderr, /Run the command as/, 'another user could not, either');
    t.notOk(existsSync(`${directory}/copy`));
  }
});
