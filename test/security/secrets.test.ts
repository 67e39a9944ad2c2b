/**
 * No secret leaves the place where it is given out. The tests send known secrets, valid and wrong ones, in
 * right and wrong places, to the whole surface at the most verbose log level; then they search all output and
 * files of the processes for them, in every spelling.
 */
import { spawnSync } from 'node:child_process';
import { createHmac, randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Command } from 'commander';
import t from 'tap';
import { valueOf, type ReceivedMessage } from '../../src/fix/message.js';
import { pluginPath, subprotocol } from '../../src/plugins/protocol.js';
import { routes, type Route } from '../../src/routes.js';
import { startAcceptor } from '../fix/acceptor.js';
import { bearer, call, json, signal } from '../support/api.js';
import { startCommand } from '../support/command.js';
import { event, report, tell } from '../support/frames.js';
import { startTestGateway } from '../support/gateway.js';
import { programToRead } from '../support/in-process.js';
import { openReader } from '../support/event-reader.js';
import { eventually } from '../support/eventually.js';
import { signalboxCli } from '../support/gateway-process.js';
import { connectPlugin, openPlugin, type Plugin } from '../support/plugin.js';
import { rawCall } from '../support/raw-client.js';
import { SecretSearch } from '../support/secret-search.js';
import { signText } from '../support/token-forgery.js';

const search = new SecretSearch();
const shownOfKey = 'svc_api_'.length + 6;
const email = 'ann@example.com';

const gateway = await startTestGateway(t, { users: 0, config: { logLevel: 'trace' } });
const { url, dataDir } = gateway;
const folder = join(dataDir, '..');
let stdout = '';
gateway.process.process.stdout?.on('data', (text) => (stdout += String(text)));

const password = newPassword();
const laterPassword = newPassword();
const secrets: Record<string, string> = {
  password,
  laterPassword,
  wrongPassword: `${password.slice(0, -1)}!`,
  wrongKey: `svc_api_${randomBytes(32).toString('base64url')}`,
  wrongSessionToken: `sbs_${randomBytes(32).toString('base64url')}`,
  jwtSecret: readFileSync(join(dataDir, 'jwt-secret'), 'utf8').trim(),
};
for (const [name, secret] of Object.entries(secrets)) know(name, secret);

t.test('a user is added, logs in and makes keys: the secrets are told there, once', async (t) => {
  const added = signalboxCli(
    dataDir,
    ['user', 'add', email, '--plan', 'business', '--password-stdin', '--json'],
    `${password}\n`,
  );
  t.equal(added.code, 0, added.stderr);
  search.look('signalbox user add', added.stdout + added.stderr);

  const login = await call(url, 'POST', '/api/auth/login', {
    headers: json,
    body: JSON.stringify({ email, password }),
  });
  const { token, sessionToken } = login.body;
  know('token', token);
  know('sessionToken', sessionToken);
  know('wrongToken', signText(token.slice(0, token.lastIndexOf('.')), 'another secret of no use'));
  search.look('the rest of the login answer', rest(login.text, [token, sessionToken]));
  for (const name of ['key', 'secondKey']) {
    const scopes = ['events:read', 'orders:cancel', 'signals:read', 'signals:write'];
    const made = await call(url, 'POST', '/api/api-keys', {
      headers: { ...json, ...bearer(token) },
      body: JSON.stringify({ name, scopes }),
    });
    know(name, made.body.key);
    search.look('the rest of the answer with a key', rest(made.text, [made.body.key]));
  }
});

t.test('every route gets every secret, in every place where it does not belong', async (t) => {
  let answers = 0;
  for (const [name, secret] of Object.entries(secrets)) {
    for (const route of routes) {
      for (const { path, lines, body } of misplaced(route, secret)) {
        const method = route.method;
        const answer = await rawCall(url, method, path, lines.map(bytesOf), body);
        const place = `${name} at ${method} ${route.path}`;
        if (answer?.status === 200 && route.operation === 'login') t.fail(place);
        search.look(place, `${answer?.head}\n${answer?.body}`);
        answers++;
      }
    }
  }
  t.ok(answers > 400, `${answers} answers`);
});

t.test('a plugin and a reader say and hear no secret', async (t) => {
  const frames: string[] = [];
  const heard = (plugin: Plugin): Plugin => {
    plugin.socket.on('message', (data: Buffer) => frames.push(data.toString()));
    plugin.socket.on('close', (code, reason) => frames.push(`${code} ${reason.toString()}`));
    return plugin;
  };
  for (const secret of Object.values(secrets)) {
    if (secret !== secrets['sessionToken']) frames.push(await refusedUpgrade(secret));
  }
  for (const secret of Object.values(secrets)) {
    const plugin = heard(await connectPlugin(url, secrets['sessionToken'] as string));
    plugin.send(`{"type":"hello","token":${JSON.stringify(secret)}`);
    plugin.send({ type: secret, token: secret });
    plugin.send({
      type: 'hello',
      platform: secret.slice(0, 60),
      accountName: secret,
      token: secret,
    });
    await plugin.waitClosed();
  }
  const plugin = heard(await openPlugin(url, secrets['sessionToken'] as string));
  const reader = await openReader(url, secrets['key'] as string);
  let stream = '';
  reader.response.on('data', (text: string) => (stream += text));
  const user = { email, keyId: 0, token: '', sessionToken: '', key: secrets['key'] as string };
  const order = await gateway.order(user, plugin);
  await tell(plugin, report(1, order.executionId, 'working'));
  search.look('the answer to a cancel', (await gateway.cancel(user, order.orderRef)).text);
  await tell(plugin, event(2));
  await reader.next('terminal_message');
  search.look('the status of a signal', JSON.stringify(await gateway.read(user, order.requestId)));
  search.look('the frames of a plugin', frames.join('\n'));
  search.look('a stream', stream);
  t.match(frames.join('\n'), /"type":"submit"[^]*"type":"cancel"/);
  t.match(stream, /event: terminal_message/);
  plugin.close();
  reader.close();
});

t.test('the ops port knows none', async () => {
  for (const secret of Object.values(secrets)) {
    const odd = encodeURIComponent(secret);
    for (const path of [`/${odd}`, `/metrics?x=${odd}`, `/readyz?${odd}`, '/healthz']) {
      const answer = await rawCall(gateway.process.opsUrl, 'GET', path, [
        `Authorization: Bearer ${bytesOf(secret)}`,
      ]);
      search.look(`the ops port at ${path.slice(0, 9)}`, `${answer?.head}\n${answer?.body}`);
    }
  }
});

t.test('a terminal tells nobody how it got in', async (t) => {
  process.env['SIGNALBOX_SESSION_TOKEN'] = secrets['sessionToken'];
  const terminal = startCommand([
    'terminal',
    ...['--platform', 'terminal_b', '--instance', 'desk-9', '--account', '5001@Paper-1'],
    ...['--url', url, '--journal', join(folder, 'journal'), '--json'],
  ]);
  delete process.env['SIGNALBOX_SESSION_TOKEN'];
  await eventually(() => terminal.stdout().includes('connected'), 60_000);
  const key = secrets['key'] as string;
  const body = JSON.stringify(signal({ platform: 'terminal_b' }));
  const headers = { ...json, ...bearer(key), 'idempotency-key': 'to the terminal' };
  await call(url, 'POST', '/api/v1/signals', { headers, body });
  await eventually(() => terminal.stdout().includes('"filled"'), 60_000);
  terminal.process.kill('SIGINT');
  const ended = await terminal.ended;
  search.look('signalbox terminal', ended.stdout + ended.stderr);
  t.ok(readdirSync(join(folder, 'journal')).length > 0);
});

t.test('a FIX terminal tells neither of its passwords', async (t) => {
  const fixPassword = newPassword();
  know('fixPassword', fixPassword);
  const venue = await startAcceptor(t);
  const config = join(folder, 'fix.config.json');
  const session = {
    host: '127.0.0.1',
    port: venue.port,
    senderCompId: 'TRADER',
    targetCompId: 'VENUE',
    username: 'trader',
  };
  const more = { platform: 'terminal_a', instanceId: 'fix-1', accountName: 'ACC' };
  const stateDir = join(folder, 'state');
  writeFileSync(config, JSON.stringify({ gateway: { url, email }, ...more, stateDir, session }));
  Object.assign(process.env, {
    SIGNALBOX_PASSWORD: password,
    SIGNALBOX_FIX_PASSWORD: fixPassword,
  });
  const terminals = [[], ['--json']].map((flags) =>
    startCommand(['fix', '--config', config, ...flags]),
  );
  delete process.env['SIGNALBOX_PASSWORD'];
  delete process.env['SIGNALBOX_FIX_PASSWORD'];
  // The second process finds the journals taken, says so and ends.
  const ended = await Promise.race(terminals.map(async ({ ended }) => ended));
  t.equal(ended.code, 2);
  await eventually(() => terminals.some((each) => each.stdout().includes('con_')), 60_000);
  t.equal(valueOf(venue.received[0] as ReceivedMessage, 554), fixPassword);
  for (const terminal of terminals) {
    terminal.process.kill('SIGTERM');
    const { stdout, stderr } = await terminal.ended;
    search.look('signalbox fix', stdout + stderr);
  }
  t.ok(readdirSync(stateDir).length > 0);
});

/** Lines of the command that need no standard input; each runs once with `--json` and once without. */
const lines: readonly (readonly string[])[] = [
  ['user', 'list'],
  ['user', 'show', email],
  ['user', 'set', email, '--plan', 'business'],
  ['key', 'list', email],
  ['config'],
  ['doctor', '--port', '0', '--ops-port', '0'],
  ['stats', '--once', '--url', gateway.process.opsUrl],
  ['openapi'],
  ['api', 'disable'],
  ['api', 'enable'],
  ['backup', join(folder, 'backup')],
  ['user', 'export', email, join(folder, 'copy')],
  ['user', 'import', join(folder, 'copy')],
  ['session', 'revoke', email],
  ['key', 'revoke', '1'],
  ['user', 'cancel-all', email],
  ['signal', 'list'],
  ['signal', 'show', 'req_nothing'],
  ['session', 'list', email],
  ['halt', '--reason', 'a drill'],
  ['resume'],
  [
    'key',
    'add',
    email,
    '--name',
    'second',
    '--scopes',
    'signals:read',
    '--expires-at',
    '2000-01-01T00:00:00Z',
  ],
  ['user', 'delete', 'nobody@example.com'],
];

t.test('no command tells a secret', async (t) => {
  // A suffix gives the second run files of its own.
  const twice = lines.flatMap((args) => {
    const files = args.map((word) => (word.startsWith(folder) ? `${word}-json` : word));
    return [args, [...files, '--json']];
  });
  const all = [
    ...twice.map((args) => ({
      args: takesDataDir(args) ? [...args, '--data-dir', dataDir] : args,
    })),
    // A secret that is too short is refused, and not repeated.
    { args: ['config'], environment: { SIGNALBOX_JWT_SECRET: 'short-but-secret' } },
    { args: ['config'], environment: { SIGNALBOX_JWT_SECRET: secrets['jwtSecret'] } },
    { args: ['user', 'add', 'x@example.com', '--plan', 'basic', '--password-stdin'] },
  ];
  know('shortSecret', 'short-but-secret');
  const program = fileURLToPath(new URL('./commands.program.js', import.meta.url));
  const env = { ...process.env, NODE_OPTIONS: '', SIGNALBOX_DATA_DIR: dataDir };
  const ran = spawnSync(process.execPath, [program], {
    input: JSON.stringify(all),
    encoding: 'utf8',
    env,
  });
  const output = ran.stdout + ran.stderr;
  t.equal(ran.status, 0, ran.stderr);
  t.equal(output.match(/^exit code \d$/gm)?.length, all.length, 'every line has run');
  for (const words of ['svc_api_', 'displayPrefix', email, '"jwtSecret"', '"openapi"']) {
    t.ok(output.includes(words), `${words} was told`);
  }
  search.look('the commands', output);

  const set = ['user', 'set', email, '--password-stdin', '--json'];
  const changed = signalboxCli(dataDir, set, `${laterPassword}\n`);
  t.equal(changed.code, 0, changed.stderr);
  search.look('signalbox user set', changed.stdout + changed.stderr);

  // These print secrets that they made for it: a user and a key to be tried with curl, a login for a plugin.
  const apart = ['demo', 'conformance'];
  const tried = [
    ...lines.map((args) => args.join(' ')),
    'user add',
    'terminal',
    'fix',
    'serve',
    ...apart,
  ];
  for (const name of leaves(await programToRead())) {
    t.ok(
      tried.some((line) => `${line} `.startsWith(`${name} `)),
      `${name} is among them`,
    );
  }
});

t.test('no file holds a secret but the one that signs user tokens', async (t) => {
  t.equal(await gateway.process.stop(), 0);
  const files = filesIn(folder);
  for (const name of [
    'data/data.mdb',
    'data/log/00000001.log',
    'backup/data.mdb',
    'backup/log/00000000.log',
    'copy',
    'copy-json',
    'backup/jwt-secret',
  ]) {
    t.ok(files.includes(name), name);
  }
  for (const file of files) {
    const content = readFileSync(join(folder, file));
    if (file.endsWith('jwt-secret')) t.equal(content.toString().trim(), secrets['jwtSecret'], file);
    else search.look(`the file ${file}`, content);
    t.equal(statSync(join(folder, file)).mode & 0o077, file.includes('config') ? 0o044 : 0, file);
  }
});

t.test('the log is as silent, at its most talkative', async (t) => {
  const log = gateway.process.log();
  t.match(log, '"msg":"serving"');
  t.notMatch(log, /"level":"(?:error|fatal)"/, 'none of this was an error of the gateway');
  search.look('the log', log);
  search.look('standard output', stdout);
});

t.test('of all that, nothing held a secret', async (t) => {
  t.same(search.findings, []);
  t.ok(search.places.length > 500, `${search.places.length} places were searched`);
  t.ok(Object.keys(secrets).length >= 11, 'for each of these secrets');
});

t.test('the search knows each of them', async (t) => {
  for (const [name, secret] of Object.entries(secrets)) {
    const before = search.findings.length;
    search.look('planted', Buffer.concat([randomBytes(40), Buffer.from(secret), randomBytes(40)]));
    const found = search.findings.slice(before).map((finding) => finding.secret);
    t.ok(found.includes(name), name);
  }
});

/** @returns a new password with characters that JSON, URLs and shells escape. */
function newPassword(): string {
  return `Pä"${randomBytes(6).toString('hex')} \\%&+${randomBytes(6).toString('base64')}`;
}

function know(name: string, secret: string): void {
  secrets[name] = secret;
  // The header of a user token and the first of its claims are alike in all of them.
  const open = name.endsWith('oken') && secret.startsWith('ey') ? secret.lastIndexOf('.') : 0;
  const isKey = secret.startsWith('svc_api_');
  search.add(name, secret, isKey ? shownOfKey : open);
}

/** @returns the answer without the secrets that it must tell; throws unless it has each of them once. */
function rest(text: string, told: readonly string[]): string {
  return told.reduce((left, secret) => {
    const parts = left.split(secret);
    if (parts.length !== 2) throw new Error(`a secret ${parts.length - 1} times in an answer`);
    return parts.join('');
  }, text);
}

interface Misplaced {
  readonly path: string;
  readonly lines: readonly string[];
  readonly body: string;
}

function* misplaced(route: Route, secret: string): Generator<Misplaced> {
  const odd = encodeURIComponent(secret);
  const path = route.path.replace(/:\w+/, odd);
  const query = `access_token=${odd}&platform=${odd}&instanceId=${odd}&${odd}`;
  const own = secrets[route.credential === 'user-token' ? 'token' : 'key'] as string;
  const right = [`Authorization: Bearer ${own}`, 'Content-Type: application/json'];
  const quoted = JSON.stringify(secret);
  const bodies = [
    `{"email":${quoted},"password":${quoted}`,
    `{"email":${quoted},"password":${quoted},"name":${quoted},"scopes":[${quoted}],"expiresAt":${quoted}}`,
    `{"email":"${email}","password":{"is":${quoted}},"v":${quoted},"signalId":${quoted},"platform":${quoted},"ts":${quoted}}`,
    `[${quoted}]`,
    secret,
  ];
  for (const body of route.method === 'POST' ? bodies : ['']) {
    yield {
      path: `${path}?${query}`,
      lines: [
        ...right,
        `Idempotency-Key: ${secret.slice(0, 128)}`,
        `Last-Event-ID: ${secret.slice(0, 80)}`,
        `traceparent: ${secret}`,
        `User-Agent: ${secret}`,
        `Referer: http://gateway/${secret}`,
        `Cookie: token=${secret}`,
        `X-Api-Key: ${secret}`,
        `X-Forwarded-For: ${secret}`,
      ],
      body,
    };
  }
  const [, type = ''] = right;
  const basic = Buffer.from(`ann:${secret}`).toString('base64');
  for (const scheme of [
    `Basic ${basic}`,
    `Token ${secret}`,
    secret,
    `Bearer ${secret}, ${secret}`,
  ]) {
    yield { path, lines: [`Authorization: ${scheme}`, type], body: '' };
  }
  const isOwn = Object.is(secret, own);
  if (!isOwn) yield { path, lines: [`Authorization: Bearer ${secret}`, type], body: '' };
}

/** Tries an upgrade with a wrong credential. @returns the gateway's whole answer. */
async function refusedUpgrade(secret: string): Promise<string> {
  const mac = createHmac('sha256', 'x').update(secret).digest('base64');
  const answer = await rawCall(url, 'GET', pluginPath, [
    ...['Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13'],
    `Sec-WebSocket-Key: ${mac.slice(0, 22)}==`,
    `Sec-WebSocket-Protocol: ${subprotocol}, ${bytesOf(secret)}`,
    `Authorization: Bearer ${bytesOf(secret)}`,
  ]);
  if (answer?.status !== 401) throw new Error(`upgrade: ${answer?.status}`);
  return `${answer.head}\n${answer.body}`;
}

function bytesOf(text: string): string {
  return Buffer.from(text).toString('latin1');
}

function takesDataDir([word]: readonly string[]): boolean {
  return word !== 'stats' && word !== 'openapi';
}

function filesIn(directory: string): string[] {
  return readdirSync(directory, { recursive: true, encoding: 'utf8' }).filter((name) =>
    statSync(join(directory, name)).isFile(),
  );
}

function leaves(command: Command, path = ''): string[] {
  if (command.commands.length === 0) return [path];
  return command.commands.flatMap((child) => leaves(child, `${path} ${child.name()}`.trim()));
}
