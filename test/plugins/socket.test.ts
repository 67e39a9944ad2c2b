/** Who may open a plugin connection, and how all others are refused. */
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import t from 'tap';
import { WebSocket } from 'ws';
import { findUser } from '../../src/auth/accounts.js';
import { createSession } from '../../src/auth/session-token.js';
import { bearer, call } from '../support/api.js';
import { startTestGateway } from '../support/gateway.js';
import { connectPlugin, openPlugin, type Plugin } from '../support/plugin.js';
import { RawClient, rawCall, request } from '../support/raw-client.js';

let expired = '';
const ending: string[] = [];
/** Lifetimes of sessions: the test uses the first that outlasts the gateway's start on a busy machine. */
const endingAfterMs = [10_000, 30_000, 90_000];
const gateway = await startTestGateway(t, {
  emails: ['sessions@example.com'],
  prepare: async (store) => {
    const user = findUser(store, 'sessions@example.com');
    if (user === undefined) throw new Error('no such user');
    const now = Date.now();
    expired = await createSession(store, user, now - 60_000, 59_999);
    for (const ms of endingAfterMs) ending.push(await createSession(store, user, now, ms));
  },
});
const endingPlugin = await firstOpen(ending);
const protocol = 'signalbox.plugin.v1';
const upgrade = ['Connection: Upgrade', 'Upgrade: websocket'];
const key = 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==';
const version = 'Sec-WebSocket-Version: 13';

/** @returns the status of the answer to an upgrade; 101 if it succeeds. */
async function upgradeStatus(
  headers: Record<string, string>,
  protocols: string | string[] = protocol,
): Promise<number | undefined> {
  const socket = new WebSocket(`${gateway.url.replace('http', 'ws')}/plugin/v1`, protocols, {
    headers,
  });
  socket.on('error', () => undefined);
  const status = await Promise.race([
    once(socket, 'open').then(() => 101),
    (once(socket, 'unexpected-response') as Promise<[unknown, IncomingMessage]>).then(
      ([, response]) => response.statusCode,
    ),
  ]);
  socket.terminate();
  return status;
}

t.test('an upgrade without a valid session token is a 401', async (t) => {
  const user = await gateway.user();
  const valid = user.sessionToken;
  const lastFlipped = valid.slice(0, -1) + (valid.endsWith('A') ? 'E' : 'A');

  const refused: Record<string, Record<string, string>> = {
    'no header': {},
    'an empty token': { authorization: 'Bearer ' },
    'another scheme': { authorization: `Basic ${valid}` },
    'the bare token': { authorization: valid },
    'a wrong token': bearer(lastFlipped),
    'a cut token': bearer(valid.slice(0, -1)),
    'an expired session': bearer(expired),
    'an API key': bearer(user.key),
    'a user token': bearer(user.token),
  };
  for (const [name, headers] of Object.entries(refused)) {
    t.equal(await upgradeStatus(headers), 401, name);
  }
  t.equal(await upgradeStatus(bearer(valid)), 101, 'a valid one is let in');
});

t.test(
  'a client that does not offer the subprotocol is refused, and the chosen one is told',
  async (t) => {
    const { sessionToken } = await gateway.user();
    const headers = bearer(sessionToken);
    t.equal(await upgradeStatus(headers, []), 400, 'none offered');
    t.equal(await upgradeStatus(headers, 'signalbox.plugin.v2'), 400, 'another offered');
    t.equal(await upgradeStatus(headers, ['chat', protocol]), 101, 'among others');
    const plugin = await connectPlugin(gateway.url, sessionToken);
    t.equal(plugin.socket.protocol, protocol);
    plugin.cut();
    const twice = await rawCall(gateway.url, 'GET', '/plugin/v1', [
      bearerLine(sessionToken),
      ...['chat', protocol].map((each) => `Sec-WebSocket-Protocol: ${each}`),
      ...[...upgrade, key, version],
    ]);
    t.equal(twice?.status, 101, 'in a header of its own');
  },
);

t.test('the WebSocket version must be 13 and the upgrade must be asked for', async (t) => {
  const { sessionToken } = await gateway.user();
  const attempt = async (lines: string[]): Promise<number | undefined> => {
    const answer = await rawCall(gateway.url, 'GET', '/plugin/v1', [
      bearerLine(sessionToken),
      `Sec-WebSocket-Protocol: ${protocol}`,
      ...lines,
    ]);
    return answer?.status;
  };
  t.equal(await attempt([...upgrade, key, version]), 101, 'as it must be');
  t.equal(await attempt([...upgrade, key, 'Sec-WebSocket-Version: 8']), 400, 'version 8');
  t.equal(await attempt([...upgrade, key]), 400, 'no version');
  t.equal(await attempt([key, version]), 426, 'a key but no Upgrade header');
  t.equal(await attempt([]), 426, 'a plain GET');
});

t.test('a plain request to the plugin path gets 426', async (t) => {
  for (const method of ['GET', 'POST']) {
    const answer = await call(gateway.url, method, '/plugin/v1');
    t.equal(answer.status, 426, method);
    t.equal(answer.body.code, 'upgrade_required');
    t.equal(answer.headers.get('upgrade'), 'websocket');
    t.equal(answer.headers.get('connection'), 'Upgrade');
  }
});

t.test('a refused upgrade has the headers of its status', async (t) => {
  const unnamed = await rawCall(gateway.url, 'GET', '/plugin/v1', [...upgrade, key, version]);
  t.equal(unnamed?.status, 401);
  t.strictSame(unnamed?.headers['www-authenticate'], ['Bearer']);
});

t.test('the answer to an upgrade carries its trace id, granted or not', async (t) => {
  const { sessionToken } = await gateway.user();
  const trace = '0af7651916cd43dd8448eb211c80319c';
  for (const [token, status] of [
    [sessionToken, 101],
    ['none', 401],
  ] as const) {
    const answer = await rawCall(gateway.url, 'GET', '/plugin/v1', [
      bearerLine(token),
      `Sec-WebSocket-Protocol: ${protocol}`,
      `traceparent: 00-${trace}-b7ad6b7169203331-01`,
      ...[...upgrade, key, version],
    ]);
    t.equal(answer?.status, status);
    t.same(answer?.headers['x-trace-id'], [trace], `${status}`);
  }
});

t.test('a connection ends with its session, as 4503', async (t) => {
  t.same(await endingPlugin.waitClosed(), { code: 4503, reason: 'session_revoked' });
});

t.test(
  'a refused upgrade is the last request of its connection, also of one that nobody reads',
  async (t) => {
    const refused = request('GET', '/plugin/v1', [key]);
    const client = await RawClient.connect(gateway.url);
    await client.send(refused);
    const answer = await client.answer({ request: { method: 'GET', path: '/plugin/v1' } });
    t.equal(answer?.status, 426);
    t.strictSame(answer?.headers['connection'], ['Upgrade', 'close']);
    t.equal(await client.closed(), '');

    const unread = await RawClient.connect(gateway.url);
    unread.socket.pause();
    const ended = new Promise((resolve) => unread.socket.once('close', resolve));
    const burst = refused.repeat(1_000);
    const burstsMax = 200;
    let sent = 0;
    while (sent < burstsMax && !unread.socket.destroyed) {
      sent++;
      await Promise.race([unread.send(burst), ended]);
    }
    t.ok(sent < burstsMax, `after ${sent} thousand`);
    unread.cut();
  },
);

t.test('clients that are cut in the middle of the upgrade leave nothing behind', async (t) => {
  const user = await gateway.user();
  const lines = [bearerLine(user.sessionToken), `Sec-WebSocket-Protocol: ${protocol}`];
  const bytes = request('GET', '/plugin/v1', [...lines, ...upgrade, key, version]);
  for (const length of [20, bytes.length - 2, bytes.length]) {
    const client = await RawClient.connect(gateway.url);
    await client.send(bytes.slice(0, length));
    client.cut();
  }
  const plugin = await gateway.plugin(user);
  t.equal(plugin.closed, undefined);
  plugin.close();
});

async function firstOpen([token, ...others]: readonly string[]): Promise<Plugin> {
  if (token === undefined) throw new Error('each session has ended before its plugin was welcome');
  return openPlugin(gateway.url, token).catch(() => firstOpen(others));
}

function bearerLine(token: string): string {
  return `Authorization: ${bearer(token).authorization}`;
}
