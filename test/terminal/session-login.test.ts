import { spawnSync } from 'node:child_process';
import t from 'tap';
import { logIn } from '../../src/terminal/session-login.js';
import { flood, startFakeApi, type Reply } from '../support/fake-api.js';

const module = new URL('../../src/terminal/session-login.js', import.meta.url).href;

t.test(
  'a process stays up until its login is answered, though nothing else holds it',
  async (t) => {
    const program = `
    const answer = Response.json({ sessionToken: 'sbs_1' });
    globalThis.fetch = () => new Promise((resolve) => setTimeout(() => resolve(answer), 20).unref());
    const { logIn } = await import('${module}');
    const login = { url: 'http://127.0.0.1', email: 'ann@example.com', password: 'correct horse' };
    console.log((await logIn(login)).sessionToken);`;
    const { status, stdout } = spawnSync(
      process.execPath,
      ['--input-type=module', '--eval', program],
      {
        encoding: 'utf8',
        env: { ...process.env, NODE_OPTIONS: '' },
      },
    );
    t.equal(status, 0);
    t.equal(stdout, 'sbs_1\n');
  },
);

const none: readonly [name: string, reply: Reply, told: RegExp][] = [
  ['null', { status: 200, body: 'null' }, /not that of a gateway/],
  ['a page', { status: 200, body: '<h1>Welcome</h1>' }, /not that of a gateway/],
  ['a refusal that is null', { status: 401, body: 'null' }, /not that of a gateway/],
  [
    'an answer without an end',
    { status: 200, stream: (out) => flood(out, ' '.repeat(64 * 1024)) },
    /more than 65536 bytes/,
  ],
];
t.test('what is no answer of a gateway is told, and not thrown', async (t) => {
  const api = await startFakeApi();
  t.teardown(() => api.close());
  for (const [name, reply, told] of none) {
    api.play(reply);
    const login = { url: api.baseUrl, email: 'ann@example.com', password: 'correct horse' };
    t.match(await logIn(login), { ok: false, message: told }, name);
  }
});

t.test('the code of a refusal cannot write to the operator’s screen', async (t) => {
  const api = await startFakeApi();
  t.teardown(() => api.close());
  const codes = { 'no\u001b[2J\nok': 'no?[2J?ok', constructor: 'constructor' };
  for (const [code, shown] of Object.entries(codes)) {
    api.play({ status: 403, body: JSON.stringify({ code }) });
    const login = { url: api.baseUrl, email: 'ann@example.com', password: 'correct horse' };
    const message = `The gateway refuses the login (403 ${shown}).`;
    t.same(await logIn(login), { ok: false, message });
  }
});
