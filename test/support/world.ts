/**
 * A gateway process with users of its own: what an end-to-end test file starts from. Limits that the
 * file does not test are raised out of its way. Ends with the test.
 */
import type { Test } from 'tap';
import { bearer, call, createKey, json, login, type Answer } from './api.js';
import {
  dataDirIn,
  signalboxCli,
  startGateway,
  type GatewayOptions,
  type GatewayProcess,
} from './gateway-process.js';
import { addUsers } from './users.js';

export interface Member {
  readonly email: string;
  /** The user JWT. */
  readonly token: string;
  readonly sessionToken: string;
  /** A key with every scope. */
  readonly key: string;
  readonly keyId: number;
}

export interface WorldOptions extends Omit<GatewayOptions, 'dataDir' | 'config'> {
  readonly limits?: Readonly<Record<string, number>>;
  readonly plans?: object;
}

export interface World {
  readonly url: string;
  readonly dataDir: string;
  readonly gateway: GatewayProcess;
  /** Runs the operator's command; throws when it fails. @returns its standard output. */
  cli(...args: string[]): string;
  /** A new user on this plan, logged in; with a key where the plan allows one. */
  member(plan?: string): Promise<Member>;
  /** Starts again on the same data, with these options in place of the first ones where given. */
  start(options?: WorldOptions): Promise<void>;
}

const outOfTheWay = {
  loginAttemptsPerMinute: 1_000_000,
  unauthenticatedAttemptsPerMinute: 1_000_000,
};

export async function openWorld(t: Test, options: WorldOptions = {}): Promise<World> {
  // Processes are started and the command line is run: on a busy machine that takes its time.
  t.setTimeout(300_000);
  const dataDir = dataDirIn(t.testdir());
  let gateway: GatewayProcess;
  /** Where the gateway's config file is put: the plans in it are the operator's too. */
  const configFlags = ['--config', `${dataDir}.config.json`];
  let members = 0;

  async function start(changed: WorldOptions = {}): Promise<void> {
    const { limits, plans, ...process } = { ...options, ...changed };
    gateway = await startGateway({
      dataDir,
      config: {
        limits: { ...outOfTheWay, ...limits },
        ...(plans === undefined ? {} : { plans }),
      },
      ...process,
    });
  }

  function cli(...args: string[]): string {
    const { code, stdout, stderr } = signalboxCli(dataDir, [...args, ...configFlags]);
    if (code !== 0) throw new Error(`signalbox ${args.join(' ')}: ${stderr}`);
    return stdout;
  }

  await start();
  t.teardown(() => gateway.kill());
  return {
    dataDir,
    cli,
    start,
    get gateway() {
      return gateway;
    },
    get url() {
      return gateway.url;
    },
    async member(plan = 'business') {
      const email = `member-${++members}@example.com`;
      await addUsers(dataDir, [email], plan);
      const { token, sessionToken } = await login(gateway.url, email);
      const { key, id } =
        plan === 'basic' ? { key: '', id: 0 } : await createKey(gateway.url, token);
      return { email, token, sessionToken, key, keyId: id };
    },
  };
}

/** POST with a JSON body, and a bearer where one is given. */
export function post(
  url: string,
  path: string,
  body: unknown,
  token = '',
  headers: Record<string, string> = {},
): Promise<Answer> {
  return call(url, 'POST', path, {
    headers: { ...json, ...(token === '' ? {} : bearer(token)), ...headers },
    body: typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body),
  });
}

export function get(url: string, path: string, token = ''): Promise<Answer> {
  return call(url, 'GET', path, { headers: token === '' ? {} : bearer(token) });
}

/** The error code of an answer in either envelope. */
export function codeOf(answer: Answer): string {
  return answer.body?.error?.code ?? answer.body?.code ?? `${answer.status} without a code`;
}

/** `409 duplicate_signal_id`, or just `202`. */
export function verdict(answer: Answer): string {
  return answer.status < 400 ? `${answer.status}` : `${answer.status} ${codeOf(answer)}`;
}

/** Asks again until the answer will do; fails the test's promise when it never does. */
export async function until<T>(
  ask: () => Promise<T>,
  isEnough: (answer: T) => boolean,
): Promise<T> {
  const deadline = performance.now() + 60_000;
  for (;;) {
    const answer = await ask();
    if (isEnough(answer)) return answer;
    if (performance.now() > deadline) throw new Error(`still: ${JSON.stringify(answer)}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
