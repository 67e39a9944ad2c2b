/** Whether the gateway's two ports are free for it, or held by the gateway that runs, and whether that one is ready. */
import { once } from 'node:events';
import { get as getPlain, type IncomingHttpHeaders } from 'node:http';
import { get as getSecure } from 'node:https';
import { createServer } from 'node:net';
import { reachableHost } from '../lib/host.js';
import type { Check } from './check.js';
import { type Finding, reporter } from './finding.js';

const answerTimeoutMs = 2_000;
const report = reporter('ports');

interface Place {
  readonly name: string;
  readonly host: string;
  readonly port: number;
  readonly flags: string;
  /** Each may be the address of the page by whose answer `isOurs` tells a gateway from other programs. */
  readonly urls: readonly string[];
  readonly isOurs: (answer: Answer) => boolean;
  /** Whether the page tells if the gateway is ready. */
  readonly tellsReadiness: boolean;
}

interface Answer {
  readonly status: number | undefined;
  readonly headers: IncomingHttpHeaders;
  /** The first part of the body, which is all of a short one. */
  readonly text: string;
}

const notReady = 503;

export const checkPorts: Check = async ({ settings, gatewayPid }) => {
  const { host, port, opsHost, opsPort, tlsCert } = settings;
  if (port !== 0 && port === opsPort && (await overlap(host, opsHost, port))) {
    const message =
      host === opsHost
        ? `The API port and the ops port are both ${host}:${port}.`
        : `The API port ${host}:${port} and the ops port ${opsHost}:${port} cannot be open at once.`;
    return [report.problem(message, 'Choose another for one of them with --port or --ops-port.')];
  }
  // The unit may hand the certificate to the gateway alone (LoadCredential): then the settings here have none.
  const schemes = tlsCert === undefined ? ['http', 'https'] : ['https', 'http'];
  const places: readonly Place[] = [
    {
      name: 'API port',
      host,
      port,
      flags: '--host and --port',
      urls: schemes.map((scheme) => `${scheme}://${reachableHost(host)}:${port}/`),
      isOurs: ({ headers }) => headers['x-trace-id'] !== undefined,
      tellsReadiness: false,
    },
    {
      name: 'ops port',
      host: opsHost,
      port: opsPort,
      flags: '--ops-host and --ops-port',
      urls: [`http://${reachableHost(opsHost)}:${opsPort}/readyz`],
      isOurs: ({ status, headers }) =>
        [200, notReady].includes(status ?? 0) && headers['cache-control'] === 'no-store',
      tellsReadiness: true,
    },
  ];
  return Promise.all(places.map((place) => checkPort(place, gatewayPid)));
};

async function checkPort(place: Place, gatewayPid: number | undefined): Promise<Finding> {
  const { name, host, port, flags } = place;
  const shown = `The ${name} ${host}:${port}`;
  if (port === 0) return report.ok(`The ${name} is any free port of ${host}.`);
  const taken = await tryPort(host, port);
  if (taken === undefined && gatewayPid !== undefined) {
    return report.warning(
      `${shown} is free, though a gateway runs on this data directory (process ${gatewayPid}): it ` +
        'was started with other settings.',
      'Give this command the same flags, environment and config file as the gateway.',
    );
  }
  if (taken === undefined) return report.ok(`${shown} is free.`);
  if (taken !== 'EADDRINUSE') {
    return report.problem(
      `${shown} cannot be opened: ${taken}.`,
      `Choose an address of this machine and a port from 1024 on with ${flags}.`,
    );
  }
  const answer = await askEach(place);
  if (answer === undefined && gatewayPid !== undefined) {
    return report.warning(
      `${shown} does not answer within ${answerTimeoutMs / 1_000} seconds. The gateway of this data directory ` +
        `(process ${gatewayPid}) probably uses it, and is suspended or very busy.`,
      `See its log, and "ps -o stat= ${gatewayPid}": T means that the process was suspended; "kill -CONT ${gatewayPid}" continues it.`,
    );
  }
  if (answer === undefined || !place.isOurs(answer)) {
    return report.problem(
      `${shown} is in use by a program that is not a gateway.`,
      `Find it with "ss -ltnp 'sport = :${port}'" and stop it, or choose another port with ${flags}.`,
    );
  }
  if (gatewayPid !== undefined) {
    const answers = `${shown} answers for the running gateway (process ${gatewayPid})`;
    if (!place.tellsReadiness) return report.ok(`${answers}.`);
    if (answer.status !== notReady) return report.ok(`${answers}: ${answer.text}.`);
    return report.problem(
      `${answers}, which is not ready: ${answer.text}.`,
      'Look up "SignalboxNotReady" in ops/runbook.md: it tells what each reason means, and what to do.',
    );
  }
  return report.warning(
    `${shown} is in use by a gateway with another data directory; none runs on this data directory.`,
    `To start one here, stop that gateway or choose another port with ${flags}.`,
  );
}

/** Whether a server on the one address keeps another off the other, as 0.0.0.0 or localhost does with 127.0.0.1. */
async function overlap(one: string, other: string, port: number): Promise<boolean> {
  if (one === other) return true;
  if ((await tryPort(other, port)) !== undefined) return false;
  let beside: string | undefined;
  await tryPort(one, port, async () => void (beside = await tryPort(other, port)));
  return beside !== undefined;
}

/** @param whileHeld runs while the port is held. @returns undefined when the port is free, else why it cannot be had. */
async function tryPort(
  host: string,
  port: number,
  whileHeld?: () => Promise<void>,
): Promise<string | undefined> {
  const server = createServer();
  try {
    server.listen({ host, port, exclusive: true });
    await once(server, 'listening');
    await whileHeld?.();
    return undefined;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? String(error);
  } finally {
    server.close();
  }
}

/** @returns the answer of a gateway, else the last one; undefined when no answer comes. */
async function askEach({ urls, isOurs }: Place): Promise<Answer | undefined> {
  let last: Answer | undefined;
  for (const url of urls) {
    const answer = await ask(url);
    if (answer !== undefined && isOurs(answer)) return answer;
    last = answer ?? last;
  }
  return last;
}

/** @returns undefined when no answer comes. The certificate is looked at elsewhere. */
function ask(url: string): Promise<Answer | undefined> {
  const options = { timeout: answerTimeoutMs, agent: false, rejectUnauthorized: false };
  return new Promise((resolve) => {
    const request = (url.startsWith('https:') ? getSecure : getPlain)(url, options, (answer) => {
      const { statusCode: status, headers } = answer;
      const read = (text: string): void => {
        resolve({ status, headers, text });
        request.destroy();
      };
      answer
        .setEncoding('utf8')
        .on('error', () => resolve(undefined))
        .once('data', read)
        .once('end', () => read(''));
    });
    request.on('timeout', () => request.destroy());
    request.on('error', () => resolve(undefined));
  });
}
