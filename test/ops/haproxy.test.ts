/** ops/haproxy: the configuration as it is shipped, in a real HAProxy, before two real gateways. */
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect as connectTcp } from 'node:net';
import { connect as connectTls } from 'node:tls';
import t from 'tap';
import { limits } from '../../src/limits.js';
import { type Answer, bearer, json, signal, verdict } from '../support/api.js';
import { event, report, tell } from '../support/frames.js';
import { ann, attemptsMax, bob, type Edge, openEdge } from '../support/edge.js';
import { eventually } from '../support/eventually.js';
import { checkConfiguration, haproxyFolder, noHaproxyUser } from '../support/haproxy.js';
import { missing } from '../support/installed.js';
import {
  tlsCall,
  tlsMember,
  tlsPlugin,
  tlsReader,
  type TlsMember,
  type TlsServer,
} from '../support/tls-client.js';

const skip = missing('haproxy', ['-v']);
// The second gateway trusts another proxy, to show whose address it then believes.
const edge = (skip === false ? await openEdge(t, '192.0.2.1') : undefined) as Edge;
const at: Edge['at'] = (host, from) => edge.at(host, from);

function login(server: TlsServer, headers: Record<string, string> = {}): Promise<Answer> {
  return tlsCall(server, 'POST', '/api/auth/login', {
    headers: { ...json, ...headers },
    body: JSON.stringify({ email: 'nobody@example.com', password: 'wrong horse' }),
  });
}

function submit(server: TlsServer, key: string, idempotencyKey: string): Promise<Answer> {
  return tlsCall(server, 'POST', '/api/v1/signals', {
    headers: { ...json, ...bearer(key), 'idempotency-key': idempotencyKey },
    body: JSON.stringify(signal()),
  });
}

const [annMember, bobMember] = (
  skip === false
    ? [
        await tlsMember(at(ann), 'ann@example.com'),
        await tlsMember(at(bob, '127.0.0.11'), 'bob@example.com'),
      ]
    : []
) as [TlsMember, TlsMember];

t.test('HAProxy accepts the configuration without a warning', { skip }, (t) => {
  t.same(checkConfiguration(edge.files), { status: 0, output: 'Configuration file is valid\n' });
  t.end();
});

t.test(
  'HAProxy, which root starts, serves as a user of its own',
  { skip: skip || noHaproxyUser() },
  async (t) => {
    const [, pid] = /^Pid: (\d+)$/m.exec(await edge.haproxy.admin('show info')) ?? [];
    const [, users] = /^Uid:\t(.*)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
    const own = spawnSync('id', ['-u', 'haproxy'], { encoding: 'utf8' }).stdout.trim();
    t.same(new Set(users?.split('\t')), new Set([own]));
  },
);

t.test(
  'each user lives on one node, with everything: login, signals, plugin, stream',
  { skip },
  async (t) => {
    for (const [host, user] of [
      [ann, annMember],
      [bob, bobMember],
    ] as const) {
      const server = at(host);
      const plugin = await tlsPlugin(server, user.sessionToken);
      const stream = await tlsReader(server, user.key);
      const accepted = await submit(server, user.key, 'once');
      t.equal(accepted.status, 202, accepted.text);
      t.equal(accepted.headers.get('strict-transport-security'), 'max-age=31536000');
      t.equal(accepted.headers.get('uwebsockets'), null);
      const frame = await plugin.next('submit', { requestId: accepted.body.requestId });
      await tell(plugin, report(1, frame['executionId'], 'filled'));
      await stream.next('command_result', (data) => data.data.status === 'filled');
      await tell(plugin, event(2));
      await stream.next('terminal_message');
      plugin.cut();
      stream.close();
    }
    t.equal(verdict(await submit(at(bob), annMember.key, 'x')), '401 invalid_api_key');
    t.equal(verdict(await submit(at(ann), bobMember.key, 'x')), '401 invalid_api_key');
  },
);

t.test(
  'a host name may come in capitals and with a port; one that nobody has is refused',
  { skip },
  async (t) => {
    const path = '/api/v1/terminal-events/sources';
    const call = (host: string): Promise<Answer> =>
      tlsCall(at(ann), 'GET', path, { headers: { host, ...bearer(annMember.key) } });
    t.equal((await call('ANN.Trade.Example.com:443')).status, 200);
    t.equal(verdict(await call('elsewhere.example.com')), '421 unknown_host');
    t.equal(verdict(await call('moving')), '421 unknown_host');
  },
);

t.test(
  'who is trusted names the client: limits count per address, and no header forges it',
  { skip },
  async (t) => {
    const counted = at(ann, '127.0.0.20');
    for (let i = 0; i < attemptsMax; i++) {
      const forged = { 'x-forwarded-for': `198.51.100.${i}`, forwarded: `for=198.51.100.${i}` };
      t.equal(verdict(await login(counted, forged)), '401 invalid_credentials');
    }
    t.equal(
      verdict(await login(counted, { 'x-forwarded-for': '198.51.100.9' })),
      '429 rate_limit_exceeded',
    );
    t.equal(
      verdict(await login(at(ann, '127.0.0.21'))),
      '401 invalid_credentials',
      'another client',
    );
  },
);

t.test('a gateway that does not trust the proxy counts the proxy', { skip }, async (t) => {
  const clients = Array.from({ length: attemptsMax + 1 }, (_, i) => at(bob, `127.0.0.${30 + i}`));
  const answers: string[] = [];
  for (const client of clients) answers.push(verdict(await login(client)));
  // Bob's own login counted as well.
  t.same(answers.slice(-2), ['429 rate_limit_exceeded', '429 rate_limit_exceeded']);
  t.ok(answers.includes('401 invalid_credentials'), answers.join());
});

t.test('a PROXY header from a peer that is no proxy changes nothing', { skip }, async (t) => {
  const { hostname, port } = new URL(edge.first.gateway.url);
  const body = JSON.stringify({ email: 'nobody@example.com', password: 'wrong horse' });
  const statuses: string[] = [];
  for (let i = 0; i <= attemptsMax; i++) {
    const socket = connectTcp({ host: hostname, port: Number(port), localAddress: '127.0.0.40' });
    socket.write(proxyHeader(`198.51.100.${i}`));
    socket.write(
      `POST /api/auth/login HTTP/1.1\r\nHost: x\r\nConnection: close\r\n` +
        `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    const [answer] = (await once(socket, 'data')) as [Buffer];
    statuses.push(answer.toString().slice(9, 12));
    socket.destroy();
  }
  t.same(statuses, [...Array.from({ length: attemptsMax }, () => '401'), '429']);
});

/** Version 2 of the PROXY protocol: TCP over IPv4, from this address. */
function proxyHeader(address: string): Buffer {
  const signature = Buffer.from('0d0a0d0a000d0a515549540a', 'hex');
  const rest = Buffer.from([
    0x21,
    0x11,
    0,
    12,
    ...address.split('.').map(Number),
    127,
    0,
    0,
    1,
    1,
    2,
    3,
    4,
  ]);
  return Buffer.concat([signature, rest]);
}

/** Sends the bytes, in these pieces, over TLS. @returns all that came until the end. */
async function raw(pieces: readonly string[]): Promise<string> {
  const socket = connectTls({
    host: '127.0.0.1',
    port: edge.haproxy.port,
    servername: ann,
    ca: at(ann).authority,
  });
  await once(socket, 'secureConnect');
  socket.setNoDelay(true).setEncoding('latin1');
  let answer = '';
  socket.on('data', (text: string) => (answer += text));
  const closed = once(socket, 'close');
  for (const piece of pieces) {
    await new Promise<void>(
      (resolve) => void socket.write(Buffer.from(piece, 'latin1'), () => resolve()),
    );
  }
  await closed;
  return answer;
}

async function acceptedSignals(): Promise<number> {
  const metrics = await (await fetch(`${edge.first.gateway.opsUrl}/metrics`)).text();
  return Number(/^signalbox_signals_accepted_total (\d+)$/m.exec(metrics)?.[1]);
}

t.test(
  'what smuggling is made of ends at the proxy, and the hidden request has no effect',
  { skip },
  async (t) => {
    const before = await acceptedSignals();
    const body = JSON.stringify(signal());
    const hidden =
      `POST /api/v1/signals HTTP/1.1\r\nHost: ${ann}\r\nAuthorization: Bearer ${annMember.key}\r\n` +
      `Content-Type: application/json\r\nIdempotency-Key: hidden\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    const head = `POST /api/auth/login HTTP/1.1\r\nHost: ${ann}\r\nContent-Type: application/json\r\n`;
    const forms: Record<string, string> = {
      'two lengths': 'Content-Length: 4\r\nContent-Length: 5\r\n\r\n',
      'two lengths in one': 'Content-Length: 4, 5\r\n\r\n',
      'an empty length': 'Content-Length: \r\n\r\n',
      'a signed length': 'Content-Length: +4\r\n\r\n',
      'an unknown coding': 'Transfer-Encoding: xchunked\r\n\r\n',
      'a coding beside chunks': 'Transfer-Encoding: gzip, chunked\r\n\r\n',
      'another host': 'Host: bob.trade.example.com\r\nContent-Length: 0\r\n\r\n',
      'an empty name': ': x\r\nContent-Length: 0\r\n\r\n',
      'a space before the colon': 'Content-Length : 0\r\n\r\n',
      'a NUL': 'X-A: b\0c\r\nContent-Length: 0\r\n\r\n',
      'a bell': 'X-A: b\x07c\r\nContent-Length: 0\r\n\r\n',
      'a chunk of no length': 'Transfer-Encoding: chunked\r\n\r\nx\r\n\r\n',
    };
    for (const [name, lines] of Object.entries(forms)) {
      const answer = await raw([head + lines + hidden]);
      t.match(answer, /^(HTTP\/1\.1 4(00|22) |$)/, name);
      t.ok(answer.split('HTTP/1.1 ').length <= 2, `${name}: one answer at most`);
    }
    t.match(await raw([`GET / HTTP/1.0\r\n\r\n`]), /^(HTTP\/1\.[01] 400|$)/, 'an old version');
    // At the path of a login, where the gateway's own bad_request has the other shape.
    const trace = head.replace('POST', 'TRACE') + '\r\n';
    const [heads = '', refusal = ''] = (await raw([trace])).split('\r\n\r\n');
    t.match(heads, /^HTTP[/]1[.]1 400 /);
    t.notMatch(heads, /^x-trace-id:/im);
    t.match(JSON.parse(refusal), { error: { code: 'bad_request', traceId: /^[0-9a-f]{32}$/ } });
    t.equal(await acceptedSignals(), before, 'nothing was executed');
  },
);

t.test('a request in any number of pieces reaches the gateway whole', { skip }, async (t) => {
  const text =
    `GET /api/v1/terminal-events/sources HTTP/1.1\r\nHost: ${ann}\r\nConnection: close\r\n` +
    `Authorization: Bearer ${annMember.key}\r\n\r\n`;
  // The older native binary alone answers a cut within the request line with 505.
  t.match(await raw(text.split(/(?=.)/s)), /^HTTP\/1\.1 200 /);
});

t.test('the time limits fit those of the gateway', { skip }, (t) => {
  const text = readFileSync(`${haproxyFolder}signalbox.cfg`, 'utf8');
  const timeoutMs = (name: string): number =>
    1000 * Number(new RegExp(`^ *timeout ${name} (\\d+)s$`, 'm').exec(text)?.[1]);
  const commentIntervalMs = 15_000;
  t.ok(timeoutMs('server') >= 2 * commentIntervalMs, 'a quiet stream stays');
  t.ok(timeoutMs('client') >= 2 * commentIntervalMs);
  t.ok(timeoutMs('tunnel') > limits.heartbeatWindowMs.value, 'a quiet plugin stays');
  t.end();
});

t.test(
  'a node that is gone gives 503 in the envelope; others do not notice; it is taken back',
  { skip },
  async (t) => {
    await edge.first.stop();
    const gone = await submit(at(ann), annMember.key, 'gone');
    t.equal(verdict(gone), '503 gateway_unreachable');
    t.equal(gone.headers.get('retry-after'), '1');
    t.match(gone.body.error.traceId, /^[0-9a-f-]{32,36}$/);
    t.equal((await submit(at(bob), bobMember.key, 'other')).status, 202);

    await edge.first.restart();
    const back = await eventually(async () => {
      const answer = await submit(at(ann), annMember.key, 'gone');
      return answer.status === 202 && answer;
    });
    t.equal(back.headers.get('idempotent-replayed'), null, 'the refused one had no effect');
  },
);

t.test('the log has no credential in it', { skip }, (t) => {
  t.match(edge.haproxy.log(), /POST .*\/api\/v1\/signals HTTP\/1\.1/);
  for (const secret of [annMember.key, annMember.token, annMember.sessionToken, 'wrong horse']) {
    t.notMatch(edge.haproxy.log(), secret);
  }
  t.end();
});
