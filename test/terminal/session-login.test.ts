import { spawnSync } from 'node:child_process';
import t from 'tap';

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
