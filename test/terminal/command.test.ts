import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { closeSync, constants, openSync, writeSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import t, { type Test } from 'tap';
import '../support/alone.js';
import { eventually } from '../support/eventually.js';
import { startFakeGateway } from '../support/fake-gateway.js';
import { Inbox } from '../support/inbox.js';
import { signalbox } from '../support/signalbox.js';
import { submitFrame } from './desk.js';

const source = ['--platform', 'terminal_a', '--instance', 'desk-1', '--account', 'Sim101'];
const token = { SIGNALBOX_SESSION_TOKEN: 'sbs_secret-token' };

interface Running {
  readonly child: ChildProcess;
  /** Standard output so far. */
  readonly output: () => string;
  readonly errors: () => string;
  line(matches: RegExp): Promise<string>;
  ended(): Promise<number | null>;
}

/** `outputTo`: where its standard output goes instead of to the test. */
function run(
  t: Test,
  args: readonly string[],
  environment: Record<string, string> = {},
  outputTo: 'pipe' | number = 'pipe',
): Running {
  const { PATH = '' } = process.env;
  const child = spawn(process.execPath, [signalbox, 'terminal', ...args], {
    env: { PATH, ...environment },
    stdio: ['pipe', outputTo, 'pipe'],
  });
  const lines = new Inbox<string>();
  let output = '';
  let errors = '';
  if (child.stdout !== null) {
    createInterface({ input: child.stdout }).on('line', (line) => {
      output += `${line}\n`;
      lines.put(line);
    });
  }
  child.stderr?.on('data', (data: Buffer) => (errors += data.toString()));
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve));
  t.teardown(() => {
    child.kill('SIGKILL');
    return ended;
  });
  return {
    child,
    output: () => output,
    errors: () => errors,
    line: (matches) => lines.take((line) => matches.test(line)),
    ended: () => ended,
  };
}

/** @returns a pipe that takes nothing more. */
function fullPipe(t: Test): number {
  const path = join(t.testdir(), 'pipe');
  execFileSync('mkfifo', [path]);
  const pipe = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
  t.teardown(() => closeSync(pipe));
  t.throws(() => {
    for (;;) writeSync(pipe, Buffer.alloc(4_096));
  }, /EAGAIN/);
  return pipe;
}

async function setUp(t: Test) {
  const gateway = await startFakeGateway();
  t.teardown(() => gateway.close());
  const connect = async () => {
    const connection = await gateway.connection();
    connection.acknowledges = true;
    const hello = await connection.welcome({ serverTime: new Date().toISOString() });
    return { connection, hello };
  };
  return { gateway, connect };
}

const soon = (): string => new Date(Date.now() + 60_000).toISOString();

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  t.test(`it prints what happens, and ends with 0 on ${signal}`, async (t) => {
    const { gateway, connect } = await setUp(t);
    const terminal = run(t, [...source, '--url', gateway.url, '--tick-ms', '0'], token);
    const { connection } = await connect();
    t.equal(connection.authorization, 'Bearer sbs_secret-token');
    connection.send(submitFrame('exe_1', { expiresAt: soon() }));
    t.match(
      await terminal.line(/submit/),
      /^\d\d:\d\d:\d\d\.\d{3} {2}submit +exe_1 +order\/submit/,
    );
    t.match(await terminal.line(/report/), /exe_1 +filled, 2 filled at 5000, 0 left/);
    terminal.child.kill(signal);
    t.equal(await terminal.ended(), 0);
    t.equal(await connection.closed(), 1000);
    t.equal(terminal.errors(), '');
    t.notMatch(terminal.output(), /secret/);
  });
}

t.test('it ends when it is asked to, although nobody reads its output', async (t) => {
  const { gateway, connect } = await setUp(t);
  const terminal = run(t, [...source, '--url', gateway.url], token, fullPipe(t));
  const { connection } = await connect();
  terminal.child.kill('SIGTERM');
  t.equal(await terminal.ended(), 0);
  t.equal(await connection.closed(), 1000);
});

t.test('--json prints one object a line', async (t) => {
  const { gateway, connect } = await setUp(t);
  const options = ['--url', gateway.url, '--json', '--partial-fills', '2'];
  const terminal = run(t, [...source, ...options], token);
  const { connection } = await connect();
  connection.send(submitFrame('exe_1', { expiresAt: soon() }));
  await terminal.line(/"filled"/);
  terminal.child.kill('SIGTERM');
  t.equal(await terminal.ended(), 0);
  const objects = terminal
    .output()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  t.match(
    objects.filter(({ kind }) => kind === 'report').map(({ evidence }) => evidence.status),
    ['partially_filled', 'filled'],
  );
  t.ok(objects.every(({ time, kind }) => typeof time === 'string' && typeof kind === 'string'));
});

t.test('prices come from standard input', async (t) => {
  const { gateway, connect } = await setUp(t);
  const terminal = run(t, [...source, '--url', gateway.url, '--prices', 'stdin'], token);
  const { connection } = await connect();
  const payload = {
    instrument: 'ES',
    side: 'buy',
    executionType: 'limit',
    limitPrice: 4_990,
    quantity: 1,
  };
  connection.send(submitFrame('exe_1', { payload, expiresAt: soon() }));
  await terminal.line(/report .*working/);
  terminal.child.stdin?.write('nonsense\nES 4980\n');
  t.match(await terminal.line(/report/), /filled, 1 filled at 4980/);
  const complaint = 'not a price of a known instrument: "nonsense"';
  t.ok(await eventually(() => terminal.errors().includes(complaint)), complaint);
  terminal.child.stdin?.end();
  terminal.child.kill('SIGTERM');
  t.equal(await terminal.ended(), 0);
});

t.test('killed and started again with its journal, it carries nothing out twice', async (t) => {
  const { gateway, connect } = await setUp(t);
  const args = [...source, '--url', gateway.url, '--journal', t.testdir(), '--tick-ms', '0'];
  const first = run(t, args, token);
  const submit = submitFrame('exe_1', { expiresAt: soon() });
  const { connection } = await connect();
  connection.send(submit);
  const { seq } = await connection.next('report');
  const second = run(t, args, token);
  t.equal(await second.ended(), 2, 'not while the first has the journal');
  t.match(second.errors(), /in use by another terminal/);
  first.child.kill('SIGKILL');
  await first.ended();

  run(t, args, token);
  const again = await connect();
  again.connection.send(submit);
  t.match(await again.connection.next('ack'), { executionId: 'exe_1' });
  const report = await again.connection.next('report', (frame) => frame.seq > seq);
  t.match(report, { status: 'filled', filledQuantity: 2 });
  t.notOk('fill' in report, 'the state is told, no second fill');
});

t.test('a gateway that says not to come back ends it with 1', async (t) => {
  const { gateway, connect } = await setUp(t);
  const terminal = run(t, [...source, '--url', gateway.url], token);
  const { connection } = await connect();
  connection.socket.close(4501, 'replaced');
  t.equal(await terminal.ended(), 1);
  t.match(terminal.output(), /refused +replaced: Another terminal/);
});

t.test('a session token that is refused ends it with 1', async (t) => {
  const { gateway } = await setUp(t);
  gateway.status = 401;
  const terminal = run(t, [...source, '--url', gateway.url], token);
  t.equal(await terminal.ended(), 1);
  t.match(terminal.output(), /session_refused: The gateway refuses the session token/);
});

/** Answers every login alike, and notes it. */
async function startLogin(t: Test, status: number, body: object, logins: unknown[] = []) {
  const server = createServer((request, response) => {
    if (request.method !== 'POST') return response.writeHead(404).end();
    let text = '';
    request.on('data', (data: Buffer) => (text += data.toString()));
    request.on('end', () => {
      logins.push([request.method, request.url, JSON.parse(text)]);
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(JSON.stringify(body));
    });
    return response;
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => new Promise((resolve) => server.close(resolve)));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const email = ['--email', 'ann@example.com'];

for (const [name, args, environment, input] of [
  ['standard input', ['--password-stdin'], {}, 'pass word\n'],
  ['the environment', [], { SIGNALBOX_PASSWORD: 'pass word' }, ''],
] as const) {
  t.test(`it logs in with a password from ${name}`, async (t) => {
    const logins: unknown[] = [];
    const url = await startLogin(t, 200, { token: 'jwt', sessionToken: 'sbs_1' }, logins);
    const terminal = run(t, [...source, '--url', url, ...email, ...args], environment);
    terminal.child.stdin?.end(input);
    await terminal.line(/disconnected/);
    t.strictSame(logins, [
      ['POST', '/api/auth/login', { email: 'ann@example.com', password: 'pass word' }],
    ]);
    terminal.child.kill('SIGTERM');
    t.equal(await terminal.ended(), 0);
  });
}

for (const [status, code, message] of [
  [401, 'invalid_credentials', /Wrong email or password/],
  [403, 'email_not_confirmed', /not confirmed/],
  [429, 'rate_limit_exceeded', /too many logins/],
  [503, 'login_unavailable', /too busy/],
  [500, 'internal_error', /refuses the login \(500 internal_error\)/],
] as const) {
  t.test(`a login answered with ${code} ends it with 1`, async (t) => {
    const url = await startLogin(t, status, { code, message: '' });
    const terminal = run(t, [...source, '--url', url, ...email], { SIGNALBOX_PASSWORD: 'hush' });
    t.equal(await terminal.ended(), 1);
    t.match(terminal.errors(), message);
    t.notMatch(terminal.errors() + terminal.output(), /hush/);
  });
}

t.test('a login where nobody listens ends it with 1', async (t) => {
  const gateway = await startFakeGateway();
  await gateway.close();
  const args = [...source, '--url', gateway.url, ...email];
  const terminal = run(t, args, { SIGNALBOX_PASSWORD: 'x' });
  t.equal(await terminal.ended(), 1);
  t.match(terminal.errors(), /No login at .*ECONNREFUSED/);
});

for (const [name, args, environment, message] of [
  ['no source', [], token, /--platform/],
  ['no token', source, {}, /SIGNALBOX_SESSION_TOKEN/],
  ['no password', [...source, ...email], {}, /SIGNALBOX_PASSWORD/],
  ['a url of another kind', [...source, '--url', 'ftp://x'], token, /http or ws URL/],
  ['no whole number', [...source, '--tick-ms', '1.5'], token, /whole number/],
  ['too many pieces', [...source, '--partial-fills', '101'], token, /1 to 100/],
  ['unknown prices', [...source, '--prices', 'web'], token, /walk, stdin/],
  ['an unknown option', [...source, '--token', 'x'], token, /unknown option/],
  [
    'two claims to standard input',
    [...source, ...email, '--password-stdin', '--prices', 'stdin'],
    {},
    /both read standard input/,
  ],
] as const) {
  t.test(`${name} is wrong usage and ends it with 2`, async (t) => {
    const terminal = run(t, args, environment);
    terminal.child.stdin?.end();
    t.equal(await terminal.ended(), 2);
    t.match(terminal.errors(), message);
  });
}

t.test('--help teaches with examples', async (t) => {
  const terminal = run(t, ['--help']);
  t.equal(await terminal.ended(), 0);
  t.match(terminal.output(), /Examples:[^]*signalbox terminal --platform terminal_a/);
  t.match(terminal.output(), /Exit codes:/);
});
