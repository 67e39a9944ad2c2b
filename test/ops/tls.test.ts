/** Native TLS: the gateway itself, with certificates made here, and everything that it serves. */
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { Agent } from 'node:https';
import { connect, type ConnectionOptions } from 'node:tls';
import t from 'tap';
import type { Finding } from '../../src/doctor/finding.js';
import '../support/alone.js';
import { bearer, json, signal } from '../support/api.js';
import { event, report, tell } from '../support/frames.js';
import { signalboxCli, startGateway } from '../support/gateway-process.js';
import { issueCertificate } from '../support/own-certificate.js';
import { tlsCall, tlsMember, tlsPlugin, tlsReader, type TlsServer } from '../support/tls-client.js';
import { addUsers } from '../support/users.js';

const host = 'gateway.example.com';
const directory = t.testdir();
const dataDir = `${directory}/data`;
const issued = await issueCertificate(host);
const stranger = await issueCertificate(host);

function write(name: string, text: string): string {
  writeFileSync(`${directory}/${name}`, text);
  return `${directory}/${name}`;
}
const cert = write('fullchain.pem', issued.chain);
const key = write('privkey.pem', issued.key);

await addUsers(dataDir, [{ email: 'ann@example.com', plan: 'business' }]);
const gateway = await startGateway({ dataDir, flags: ['--tls-cert', cert, '--tls-key', key] });
t.teardown(() => gateway.kill());
const port = Number(new URL(gateway.url).port);
const server: TlsServer = { host, port, authority: issued.authority };

t.test('login, signals, a plugin over WSS and events over TLS are one gateway', async (t) => {
  t.match(gateway.url, /^https:/);
  const ann = await tlsMember(server, 'ann@example.com');
  const plugin = await tlsPlugin(server, ann.sessionToken);
  const events = await tlsReader(server, ann.key);
  t.equal(events.status, 200);

  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  for (let i = 1; i <= 3; i++) {
    const accepted = await tlsCall(server, 'POST', '/api/v1/signals', {
      headers: { ...json, ...bearer(ann.key), 'idempotency-key': `one-${i}` },
      body: JSON.stringify(signal({ payload: { note: 'x'.repeat(60_000) } })),
      agent,
    });
    t.equal(accepted.status, 202, accepted.text);
    const { requestId } = accepted.body;
    const frame = await plugin.next('submit', { requestId });
    t.equal(frame['payload'].note.length, 60_000);
    await tell(plugin, report(2 * i - 1, frame['executionId'], 'filled'));
    await events.next('command_result', (data) => data.data.status === 'filled');
    await tell(plugin, event(2 * i, { rawText: 'y'.repeat(8_000) }));
    t.equal((await events.next('terminal_message')).data.rawText.length, 8_000);
    const read = await tlsCall(server, 'GET', `/api/v1/signals/${requestId}`, {
      headers: bearer(ann.key),
    });
    t.equal(read.body.executions[0].status, 'filled');
  }
  agent.destroy();
  plugin.cut();
  events.close();
});

t.test('a doctor that is not given the certificate knows the gateway all the same', (t) => {
  const ports = ['--port', `${port}`, '--ops-port', new URL(gateway.opsUrl).port];
  for (const [directory, level, message] of [
    [dataDir, 'ok', /answers for the running gateway/],
    [`${dataDir}-other`, 'warning', /in use by a gateway with another data directory/],
  ] as const) {
    const { stdout } = signalboxCli(directory, ['doctor', '--json', ...ports]);
    const { findings } = JSON.parse(stdout) as { findings: Finding[] };
    const [api] = findings.filter(({ check }) => check === 'ports');
    t.match(api, { level, message });
  }
  t.end();
});

t.test('the certificate is the one that was given, with its chain', async (t) => {
  const wrong = { ...server, authority: stranger.authority };
  await t.rejects(tlsCall(wrong, 'GET', '/api/v1/x'), { code: /CERT|SIGNATURE|VERIFY|ISSUER/ });
  await t.rejects(tlsCall({ ...server, host: 'other.example.com' }, 'GET', '/api/v1/x'), {
    code: 'ERR_TLS_CERT_ALTNAME_INVALID',
  });
});

async function handshake(options: ConnectionOptions): Promise<string> {
  const socket = connect({
    port,
    host: '127.0.0.1',
    servername: host,
    ca: issued.authority,
    ...options,
  });
  await once(socket, 'secureConnect');
  const protocol = socket.getProtocol() as string;
  socket.destroy();
  return protocol;
}

t.test('TLS 1.2 and 1.3 are spoken, nothing older, and no plain HTTP beside them', async (t) => {
  t.equal(await handshake({}), 'TLSv1.3');
  t.equal(await handshake({ maxVersion: 'TLSv1.2' }), 'TLSv1.2');
  // At security level 0 this client offers old versions, so that it is the gateway that refuses.
  const old = {
    minVersion: 'TLSv1',
    maxVersion: 'TLSv1.1',
    ciphers: 'DEFAULT@SECLEVEL=0',
  } as const;
  await t.rejects(handshake(old));
  await t.rejects(fetch(`http://127.0.0.1:${port}/openapi.json`));
});

t.test('a certificate that could not serve stops the start, in words that help', (t) => {
  const refusals: [string, string[], RegExp][] = [
    ['no key', ['--tls-cert', cert], /"tlsCert" is given without "tlsKey"/],
    ['no certificate', ['--tls-key', key], /"tlsKey" is given without "tlsCert"/],
    [
      'a missing file',
      ['--tls-cert', `${directory}/none.pem`, '--tls-key', key],
      /certificate .*none\.pem cannot be used: .*no such file.*PEM file that can be read/,
    ],
    [
      'no PEM',
      ['--tls-cert', write('text.pem', 'hello'), '--tls-key', key],
      /certificate .*text\.pem cannot be used/,
    ],
    [
      'a key in the place of the certificate',
      ['--tls-cert', key, '--tls-key', key],
      /certificate .*privkey\.pem cannot be used/,
    ],
    [
      "a stranger's key",
      ['--tls-cert', cert, '--tls-key', write('stranger.pem', stranger.key)],
      /private key .*stranger\.pem does not belong to the certificate .*fullchain\.pem/,
    ],
    [
      'a key that is too short',
      ['--tls-cert', cert, '--tls-key', write('weak.pem', rsaKey(1024))],
      /private key .*weak\.pem has 1024 bits, which clients refuse: an RSA key needs 2048/,
    ],
  ];
  for (const [name, flags, message] of refusals) {
    const { code, stdout, stderr } = signalboxCli(`${directory}/other`, [
      ...['serve', '--port', '0', '--ops-port', '0'],
      ...flags,
    ]);
    t.equal(code, 2, name);
    t.match(stderr, message, name);
    t.equal(stdout, '', 'nothing was served');
  }
  t.end();
});

t.test('a renewal that went wrong keeps no command from a gateway that runs', (t) => {
  const wrong = { tlsCert: cert, tlsKey: write('next.pem', stranger.key) };
  const config = write('signalbox.json', JSON.stringify(wrong));
  const run = (...args: string[]) => signalboxCli(dataDir, [...args, '--config', config]);
  for (const args of [['halt'], ['resume'], ['user', 'list'], ['backup', `${directory}/copy`]]) {
    const { code, stderr } = run(...args);
    t.same({ code, stderr }, { code: 0, stderr: '' }, args.join(' '));
  }
  t.match(run('config'), { code: 2, stderr: /does not belong to the certificate/ });
  t.end();
});

t.test('a chain that the native server does not take stops the start, with its files', (t) => {
  const damaged = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n';
  const { code, stdout, stderr } = signalboxCli(`${directory}/other`, [
    ...['serve', '--port', '0', '--ops-port', '0'],
    ...['--tls-cert', write('damaged.pem', issued.chain + damaged), '--tls-key', key],
  ]);
  t.equal(code, 1);
  t.match(stderr, /^TLS cannot be spoken with the certificate .*damaged\.pem and the key /m);
  t.notMatch(stderr, /\n {4}at /);
  t.equal(stdout, '');
  t.end();
});

function rsaKey(modulusLength: number): string {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength });
  return String(privateKey.export({ type: 'pkcs8', format: 'pem' }));
}
