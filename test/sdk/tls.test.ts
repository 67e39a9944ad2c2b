/** The plugin bases at a gateway behind TLS: they are told of its authority, which the system lacks. */
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import '../support/alone.js';
import { bearer, json, signal } from '../support/api.js';
import { startGateway } from '../support/gateway-process.js';
import { missing } from '../support/installed.js';
import { issueCertificate } from '../support/own-certificate.js';
import { tlsCall, tlsMember, type TlsServer } from '../support/tls-client.js';
import { addUsers } from '../support/users.js';
import { compile, noMono } from './csharp.js';
import { environment, noPython, python, sdk } from './python.js';
import { startTerminal } from './terminal-process.js';

type Environment = Readonly<Record<string, string>>;

const directory = t.testdir();
const email = 'ann@example.com';
const dataDir = join(directory, 'data');

function file(name: string, text: string): string {
  const path = join(directory, name);
  writeFileSync(path, text);
  return path;
}

const issued = await issueCertificate();
const authority = file('authority.pem', issued.authority);
const stranger = file('stranger.pem', (await issueCertificate()).authority);
await addUsers(dataDir, [{ email, plan: 'business' }]);
const certificate = file('chain.pem', issued.chain);
const key = file('key.pem', issued.key);
const flags = ['--tls-cert', certificate, '--tls-key', key];
const gateway = await startGateway({ dataDir, flags });
t.teardown(() => gateway.kill());

const port = Number(new URL(gateway.url).port);
/** Mono does not check addresses of a certificate, only names. */
const url = `https://localhost:${port}`;
const server: TlsServer = { host: 'localhost', port, authority: issued.authority };

async function tradesBehindTls(
  t: Test,
  command: readonly string[],
  trusting: (authority: string) => Environment,
): Promise<void> {
  const source = (journal: string): string[] => ['terminal_a', 'desk-1', 'Sim101', journal];
  const lost = [...command, ...source(join(directory, 'lost'))];
  const refusing = startTerminal(t, lost, trusting(stranger), { url, email });
  t.equal(await refusing.ended(), 1, 'an unknown authority is refused');

  const terminal = startTerminal(t, [...command, ...source(t.testdir())], trusting(authority), {
    url,
    email,
  });
  await terminal.notice('connected');
  const ann = await tlsMember(server, email);
  const accepted = await tlsCall(server, 'POST', '/api/v1/signals', {
    headers: { ...json, ...bearer(ann.key), 'idempotency-key': t.name },
    body: JSON.stringify(signal()),
  });
  t.equal(accepted.status, 202, accepted.text);
  const path = `/api/v1/signals/${accepted.body.requestId}?waitMs=30000`;
  const { body } = await tlsCall(server, 'GET', path, { headers: bearer(ann.key) });
  t.equal(body.executions[0].status, 'filled');
}

const noOpenssl = missing('openssl', ['version']);

t.test(
  'the certificates are valid by the strict rules of Python 3.13',
  { skip: noOpenssl },
  (t) => {
    const args = ['verify', '-x509_strict', '-CAfile', authority, certificate];
    t.match(execFileSync('openssl', args, { encoding: 'utf8' }), /: OK$/m);
    t.end();
  },
);

await t.test('Python', { skip: noPython }, (t) =>
  tradesBehindTls(t, [String(python), `${sdk}/examples/paper_terminal.py`], (authority) => ({
    ...environment,
    SSL_CERT_FILE: authority,
  })),
);

/** Mono has a store of its own; a file in it is named after its subject. */
function monoTrusting(authority: string): Environment {
  const hash = execFileSync('openssl', ['x509', '-hash', '-noout', '-in', authority], {
    encoding: 'utf8',
  }).trim();
  const home = `${authority}.home`;
  const store = join(home, '.config/.mono/new-certs/Trust');
  mkdirSync(store, { recursive: true });
  copyFileSync(authority, join(store, `${hash}.0`));
  return { HOME: home, XDG_CONFIG_HOME: join(home, '.config') };
}

await t.test('.NET', { skip: noMono || noOpenssl }, (t) =>
  tradesBehindTls(t, compile(directory, 'paper'), monoTrusting),
);
