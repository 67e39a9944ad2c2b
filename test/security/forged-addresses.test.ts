/**
 * An address that a request claims counts only from a trusted proxy, and only in the two ways that the
 * documents name: X-Forwarded-For and version 2 of the PROXY protocol.
 */
import { join } from 'node:path';
import t from 'tap';
import '../support/alone.js';
import { startGateway, type GatewayProcess } from '../support/gateway-process.js';
import { RawClient, request, type RawAnswer } from '../support/raw-client.js';

const attemptsMax = 3;
const directory = t.testdir();
const limits = { unauthenticatedAttemptsPerMinute: attemptsMax };
const path = '/api/v1/terminal-events/sources';

/** Every header in which a proxy names the client. */
const claims: Readonly<Record<string, (address: string) => string>> = {
  'X-Forwarded-For': (address) => `X-Forwarded-For: ${address}`,
  Forwarded: (address) => `Forwarded: for=${address};proto=https;by=127.0.0.1`,
  'X-Real-IP': (address) => `X-Real-IP: ${address}`,
  'X-Client-IP': (address) => `X-Client-IP: ${address}`,
  'X-Cluster-Client-IP': (address) => `X-Cluster-Client-IP: ${address}`,
  'True-Client-IP': (address) => `True-Client-IP: ${address}`,
  'CF-Connecting-IP': (address) => `CF-Connecting-IP: ${address}`,
  'Fastly-Client-IP': (address) => `Fastly-Client-IP: ${address}`,
  'X-Original-Forwarded-For': (address) => `X-Original-Forwarded-For: ${address}`,
  X_Forwarded_For: (address) => `X_Forwarded_For: ${address}`,
  Via: (address) => `Via: 1.1 ${address}`,
};

const trusted = await gatewayThatTrusts('127.0.0.1');

t.test('from a peer that is not trusted, no claim makes another client', async (t) => {
  const { url, log } = await gatewayThatTrusts('192.0.2.0/24');
  for (let i = 0; i < attemptsMax; i++) t.equal((await knock(url))?.status, 401);
  t.equal((await knock(url))?.status, 429, 'the limit is spent');
  for (const [name, claim] of Object.entries(claims)) {
    for (const address of ['198.51.100.7', '192.0.2.7', '127.0.0.1', '::1', 'unknown', '']) {
      t.equal((await knock(url, [claim(address)]))?.status, 429, `${name}: ${address}`);
    }
  }
  const everything = Object.values(claims).map((claim) => claim('198.51.100.8'));
  t.equal((await knock(url, everything))?.status, 429, 'all at once');
  for (const address of ['198.51.100.9', '192.0.2.7']) {
    const answer = await knock(url, everything, proxyHeader(address));
    t.equal(answer?.status, 429, `PROXY version 2 for ${address}`);
  }
  t.notMatch(log(), /198\.51\.100|192\.0\.2\.7/, 'and nothing of it reaches the log');
});

t.test(
  'from a trusted peer, X-Forwarded-For and the PROXY protocol count, nothing else',
  async (t) => {
    for (let i = 0; i < attemptsMax; i++) t.equal((await knock(trusted.url))?.status, 401);
    t.equal((await knock(trusted.url))?.status, 429, 'the limit of the proxy itself is spent');
    for (const [name, claim] of Object.entries(claims)) {
      const status = name === 'X-Forwarded-For' ? 401 : 429;
      t.equal((await knock(trusted.url, [claim('198.51.100.7')]))?.status, status, name);
    }
    for (let i = 0; i < attemptsMax; i++) {
      t.equal(
        (await knock(trusted.url, [], proxyHeader('198.51.100.8')))?.status,
        401,
        'PROXY version 2',
      );
    }
    t.equal(
      (await knock(trusted.url, [], proxyHeader('198.51.100.8')))?.status,
      429,
      'its limit is its own',
    );
    t.equal(
      (await knock(trusted.url, ['X-Forwarded-For: 198.51.100.8']))?.status,
      429,
      'and the same client’s',
    );
    const both = ['X-Forwarded-For: 198.51.100.9'];
    t.equal(
      (await knock(trusted.url, both, proxyHeader('198.51.100.8')))?.status,
      429,
      'a client behind a proxy that speaks PROXY cannot say who it is',
    );
  },
);

t.test('what is nearly a PROXY header does no harm', async (t) => {
  const signature = proxyHeader('198.51.100.1').subarray(0, 12);
  const heads: Readonly<Record<string, Buffer>> = {
    'version 1': Buffer.from('PROXY TCP4 198.51.100.1 127.0.0.1 1 2\r\n'),
    'version 1, unknown': Buffer.from('PROXY UNKNOWN\r\n'),
    'the signature alone': signature,
    'a length that reaches beyond the request': Buffer.concat([
      signature,
      Buffer.from([0x21, 0x11, 0xff, 0xff]),
    ]),
    'a length of nothing': Buffer.concat([signature, Buffer.from([0x21, 0x11, 0, 0])]),
    'an unknown family': Buffer.concat([signature, Buffer.from([0x21, 0xff, 0, 1, 7])]),
    'an unknown version': Buffer.concat([signature, Buffer.from([0xf1, 0x11, 0, 0])]),
    twice: Buffer.concat([proxyHeader('198.51.100.1'), proxyHeader('198.51.100.2')]),
  };
  let clients = 0;
  for (const [name, head] of Object.entries(heads)) {
    const client = await RawClient.connect(trusted.url);
    await client.send(Buffer.concat([head, Buffer.from(request('GET', path))]));
    client.socket.end();
    await client.closed();
    const own = `X-Forwarded-For: 203.0.113.${++clients}`;
    t.equal((await knock(trusted.url, [own]))?.status, 401, name);
  }
});

/** Starts a gateway that trusts this proxy, with counters of its own, until the tests end. */
async function gatewayThatTrusts(proxy: string): Promise<GatewayProcess> {
  const gateway = await startGateway({
    dataDir: join(directory, proxy.replace('/', '-')),
    config: { limits, logLevel: 'trace' },
    flags: ['--trust-proxy', proxy],
  });
  t.teardown(() => gateway.kill());
  return gateway;
}

async function knock(
  url: string,
  lines: readonly string[] = [],
  before: Buffer = Buffer.alloc(0),
): Promise<RawAnswer | undefined> {
  const client = await RawClient.connect(url);
  await client.send(Buffer.concat([before, Buffer.from(request('GET', path, lines))]));
  const answer = await client.answer();
  client.cut();
  return answer;
}

/** Version 2 of the PROXY protocol: TCP over IPv4, from this address. */
function proxyHeader(address: string): Buffer {
  const signature = Buffer.from('0d0a0d0a000d0a515549540a', 'hex');
  const kind = [0x21, 0x11, 0, 12];
  const ends = [...address.split('.').map(Number), 127, 0, 0, 1, 1, 2, 3, 4];
  return Buffer.concat([signature, Buffer.from([...kind, ...ends])]);
}
