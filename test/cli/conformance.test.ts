import t from 'tap';
import '../support/alone.js';
import { logIn } from '../../src/terminal/session-login.js';
import { createPaperTerminal } from '../../src/terminal/paper-terminal.js';
import { systemClock } from '../../src/lib/clock.js';
import { startCommand } from '../support/command.js';
import { eventually } from '../support/eventually.js';
import { runInProcess } from '../support/in-process.js';

t.test('without a plugin, the first rule fails and so does the command', async (t) => {
  const { code, stdout } = await runInProcess(['conformance', '--json', '--connect-s', '1']);
  const [address, verdict, sum, ...others] = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  t.match(address, { url: /^http:\/\/127\.0\.0\.1:\d+$/, email: String, password: String });
  t.match(verdict, {
    rule: 'subprotocol',
    result: 'fail',
    why: /no connection/,
    place: /^src\/plugins\/PROTOCOL\.md#/,
  });
  t.same(sum, { passed: 0, failed: 1 });
  t.same(others, []);
  t.equal(code, 1);
});

t.test('a plugin is judged as it connects', async (t) => {
  const command = startCommand(['conformance']);
  t.teardown(async () => {
    command.process.kill('SIGKILL');
    await command.ended;
  });
  const printed = async (pattern: RegExp): Promise<readonly string[]> =>
    eventually(() => pattern.exec(command.stdout()));
  const [, url = '', email = '', password = ''] = await printed(
    /Connect the plugin to (\S+), as (\S+) with the password (\S+)\n/,
  );
  const login = await logIn({ url, email, password });
  if (!login.ok) throw new Error(login.message);
  const terminal = createPaperTerminal({
    url,
    token: () => login.sessionToken,
    source: { platform: 'terminal_a', instanceId: 'desk-1', accountName: 'Sim101' },
    clock: systemClock,
    observer: () => undefined,
  });
  t.teardown(() => terminal.stop());
  terminal.start();
  t.ok(await printed(/^pass {2}subprotocol +offers/m));
  t.ok(await printed(/^pass {2}hello /m));
});

t.test('rules can be judged alone, with a password that the author knows', async (t) => {
  process.env['SIGNALBOX_PASSWORD'] = 'mine';
  t.teardown(() => {
    delete process.env['SIGNALBOX_PASSWORD'];
  });
  const args = ['conformance', '--connect-s', '1', '--rule', 'rests', 'cancel'];
  const { stdout } = await runInProcess(args);
  const [address = '', ...lines] = stdout.split('\n');
  t.match(address, /as \S+ with the password in SIGNALBOX_PASSWORD$/);
  t.match(lines[0], /^fail {2}rests /);
  t.same(lines.slice(3), ['0 passed, 1 failed', 'To test only these again: --rule rests', '']);
  const wrong = await runInProcess(['conformance', '--rule', 'juggle']);
  t.equal(wrong.code, 2);
  t.match(wrong.stderr, /There is no such rule/);
});

t.test('an address that cannot be used is said, and wrong numbers are refused', async (t) => {
  const taken = await runInProcess(['conformance', '--host', '192.0.2.1']);
  t.equal(taken.code, 1);
  t.match(taken.stderr, /The address cannot be used: .*192\.0\.2\.1/);
  for (const [flag, value, says] of [
    ['--port', '70000', /from 0 to 65535/],
    ['--port', '80.5', /a whole number/],
    ['--quantity', '0', /from 1e-18 /],
  ] as const) {
    const wrong = await runInProcess(['conformance', '--connect-s', '1', flag, value]);
    t.equal(wrong.code, 2, flag);
    t.match(wrong.stderr, says);
  }
});
