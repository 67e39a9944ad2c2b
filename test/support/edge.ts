/**
 * A deployment past one node: HAProxy with the shipped configuration before two gateways, each with a
 * data directory of its own. Ann and Carol live on the first one, Bob on the second. Ends with the test.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import type { Test } from 'tap';
import './alone.js';
import { freePort } from './free-port.js';
import { startGateway, type GatewayProcess } from './gateway-process.js';
import { type Haproxy, type HaproxyFiles, haproxyFolder, startHaproxy } from './haproxy.js';
import { issueCertificate } from './own-certificate.js';
import type { TlsServer } from './tls-client.js';
import { addUsers } from './users.js';

export const ann = 'ann.trade.example.com';
export const bob = 'bob.trade.example.com';
export const carol = 'carol.trade.example.com';

/** Logins a minute and client. */
export const attemptsMax = 4;

export interface Edge {
  readonly files: HaproxyFiles;
  readonly haproxy: Haproxy;
  readonly first: Node;
  readonly second: Node;
  /** What a client needs to reach this host. @param from the client's own address, any of 127/8. */
  at(host: string, from?: string): TlsServer;
}

export interface Node {
  readonly dataDir: string;
  readonly gateway: GatewayProcess;
  stop(): Promise<void>;
  /** On the ports that it had, as a service has them. */
  restart(): Promise<void>;
}

/** @param trusted proxies whose word about the client's address the gateway believes. */
async function startNode(t: Test, dataDir: string, trusted: string): Promise<Node> {
  const config = {
    limits: { loginAttemptsPerMinute: attemptsMax, unauthenticatedAttemptsPerMinute: 10_000 },
  };
  const ports = ['--port', `${await freePort()}`, '--ops-port', `${await freePort()}`];
  const options = { dataDir, config, flags: ['--trust-proxy', trusted, ...ports] };
  let gateway = await startGateway(options);
  t.teardown(() => gateway.kill());
  return {
    dataDir,
    get gateway() {
      return gateway;
    },
    async stop() {
      await gateway.stop();
    },
    async restart() {
      gateway = await startGateway(options);
    },
  };
}

/** @param environment settings of HAProxy beside those of this machine. */
export async function openEdge(
  t: Test,
  trustedBySecond = '127.0.0.1',
  environment: Readonly<Record<string, string>> = {},
): Promise<Edge> {
  const directory = t.testdir();
  const issued = await issueCertificate('*.trade.example.com', 'elsewhere.example.com');
  const files = {
    certificates: `${directory}/all.pem`,
    map: `${directory}/nodes.map`,
  };
  writeFileSync(files.certificates, issued.chain + issued.key);
  const shippedMap = readFileSync(`${haproxyFolder}nodes.map`, 'utf8');
  writeFileSync(files.map, `${shippedMap}${carol} node-1\n`);

  const dataDirs = [`${directory}/node-1`, `${directory}/node-2`] as const;
  const plan = 'business';
  await addUsers(dataDirs[0], [
    { email: 'ann@example.com', plan },
    { email: 'carol@example.com', plan },
  ]);
  await addUsers(dataDirs[1], [{ email: 'bob@example.com', plan }]);
  const first = await startNode(t, dataDirs[0], '127.0.0.1');
  const second = await startNode(t, dataDirs[1], trustedBySecond);
  const haproxy = await startHaproxy(t, files, {
    ...environment,
    NODE_1: new URL(first.gateway.url).host,
    NODE_1_OPS: new URL(first.gateway.opsUrl).port,
    NODE_2: new URL(second.gateway.url).host,
    NODE_2_OPS: new URL(second.gateway.opsUrl).port,
  });
  return {
    files,
    haproxy,
    first,
    second,
    at: (host, from = '127.0.0.10') => ({
      host,
      port: haproxy.port,
      authority: issued.authority,
      from,
    }),
  };
}
