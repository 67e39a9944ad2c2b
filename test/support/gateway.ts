/**
 * Starts a gateway process for one test file, with users made before it starts. Each subtest takes its
 * own users, so that limits and terminals of one subtest never affect another. The limits on logins are
 * raised, because tests log in often. The process ends with the test.
 */
import { join } from 'node:path';
import type { Test } from 'tap';
import type { Store } from '../../src/store/store.js';
import './alone.js';
import { bearer, call, createKey, login, signal, status, submit } from './api.js';
import { eventually } from './eventually.js';
import { report, tell } from './frames.js';
import { startGateway, type GatewayOptions, type GatewayProcess } from './gateway-process.js';
import { runInProcess } from './in-process.js';
import { openPlugin, type Frame, type Plugin } from './plugin.js';
import { addUsers, type NewUser } from './users.js';

export interface TestUser {
  readonly email: string;
  /** The user JWT. */
  readonly token: string;
  readonly sessionToken: string;
  /** A key with every scope, unless other fields were asked for; empty where the plan allows none. */
  readonly key: string;
  readonly keyId: number;
}

export interface TestGatewayOptions extends Omit<GatewayOptions, 'dataDir' | 'config'> {
  readonly limits?: Readonly<Record<string, number>>;
  readonly plans?: Readonly<Record<string, object>>;
  /** Further parts of the config file. */
  readonly config?: object;
  /** Number of users of the plan `business`; of each other plan there are 6. */
  readonly users?: number;
  /** Further users with these emails; `user()` never returns them. */
  readonly emails?: readonly string[];
  /** Runs once on the store, before the gateway opens it. */
  readonly prepare?: (store: Store) => Promise<void>;
}

/** An order that a plugin has been handed, as both sides know it. */
export interface HandedOrder {
  readonly requestId: string;
  readonly executionId: string;
  readonly orderRef: string;
  readonly frame: Frame;
}

const defaultUsers = 40;
const usersOfOtherPlans = 6;

export class TestGateway {
  process!: GatewayProcess;
  readonly #taken = new Map<string, number>();
  #cancels = 0;

  constructor(
    readonly dataDir: string,
    readonly options: TestGatewayOptions,
  ) {}

  get url(): string {
    return this.process.url;
  }

  /** Starts, again on the same data, with these options in place of the first ones where given. */
  async start(changed: TestGatewayOptions = {}): Promise<void> {
    const { limits, plans, config, ...process } = { ...this.options, ...changed };
    this.process = await startGateway({
      ...process,
      dataDir: this.dataDir,
      config: {
        ...config,
        limits: {
          loginAttemptsPerMinute: 1_000_000,
          unauthenticatedAttemptsPerMinute: 1_000_000,
          ...limits,
        },
        ...(plans === undefined ? {} : { plans }),
      },
    });
  }

  /** Ends the process and starts again on the same data; the ports are new ones. */
  async restart(end: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    if (end === 'SIGKILL') await this.process.kill();
    else await this.process.stop();
    await this.start();
  }

  /** Runs the operator's command on the data directory. @returns its standard output. */
  command(...args: string[]): Promise<string> {
    return this.commandWithInput('', ...args);
  }

  async commandWithInput(input: string, ...args: string[]): Promise<string> {
    const flags = ['--data-dir', this.dataDir, '--config', `${this.dataDir}.config.json`];
    const { code, stdout, stderr } = await runInProcess([...args, ...flags], input);
    if (code !== 0) throw new Error(`signalbox ${args.join(' ')}: ${stderr}`);
    return stdout;
  }

  /** Takes the next unused user of the plan and logs it in; creates a key where the plan allows one. */
  async user(options: { readonly plan?: string; readonly key?: object } = {}): Promise<TestUser> {
    const { plan = 'business', key: fields } = options;
    const index = this.#taken.get(plan) ?? 0;
    this.#taken.set(plan, index + 1);
    const email = emailOf(plan, index);
    const { token, sessionToken } = await login(this.url, email);
    const { key, id } =
      plan === 'basic' ? { key: '', id: 0 } : await createKey(this.url, token, fields);
    return { email, token, sessionToken, key, keyId: id };
  }

  plugin(user: { readonly sessionToken: string }, fields: object = {}): Promise<Plugin> {
    return openPlugin(this.url, user.sessionToken, fields);
  }

  /** Submits an order and waits until the plugin has it. */
  async order(user: TestUser, plugin: Plugin, fields: object = {}): Promise<HandedOrder> {
    const requestId = await this.submit(user, fields);
    const frame = await plugin.next('submit', { requestId });
    return { requestId, executionId: frame['executionId'], orderRef: frame['orderRef'], frame };
  }

  /** A user with a plugin whose order rests. Numbered frames go on from seq 2. */
  async resting() {
    const user = await this.user();
    const plugin = await this.plugin(user);
    const order = await this.order(user, plugin);
    await tell(plugin, report(1, order.executionId, 'working'));
    return { user, plugin, order };
  }

  /** Submits a signal, and repeats it while the disk hangs. @returns the requestId. */
  async submit(user: TestUser, fields: object = {}): Promise<string> {
    const answer = await submit(this.url, user.key, signal(fields));
    if (answer.status !== 202) throw new Error(`submit: ${answer.status} ${answer.text}`);
    return answer.body.requestId;
  }

  /** The request as a bot reads it. */
  async read(user: TestUser, requestId: string): Promise<any> {
    const answer = await status(this.url, user.key, requestId);
    if (answer.status !== 200) throw new Error(`status: ${answer.status} ${answer.text}`);
    return answer.body;
  }

  /** The first execution of the request. */
  async execution(user: TestUser, requestId: string): Promise<any> {
    return (await this.read(user, requestId)).executions[0];
  }

  /** Waits for the status, which other processes may have to bring about. @returns the first execution of the request. */
  becomes(user: TestUser, requestId: string, status: string): Promise<any> {
    return eventually(async () => {
      const execution = await this.execution(user, requestId);
      return execution.status === status && execution;
    }, 120_000);
  }

  /** The sources of the user as a bot reads them. */
  async sources(user: TestUser): Promise<any[]> {
    const path = '/api/v1/terminal-events/sources';
    const answer = await call(this.url, 'GET', path, { headers: bearer(user.key) });
    if (answer.status !== 200) throw new Error(`sources: ${answer.status} ${answer.text}`);
    return answer.body.sources;
  }

  /** Asks for the cancel of an order. */
  cancel(user: TestUser, orderRef: string, idempotencyKey = `cancel-${++this.#cancels}`) {
    return call(this.url, 'POST', `/api/v1/orders/${orderRef}/cancel`, {
      headers: { ...bearer(user.key), 'idempotency-key': idempotencyKey },
    });
  }
}

/** A data directory's path inside the test's own directory; it need not exist yet. */
export function dataDirOf(t: Test): string {
  return join(t.testdir(), 'data');
}

/** Adds the users, starts the gateway and registers its end. A gateway that fails by itself fails the test. */
export async function startTestGateway(
  t: Test,
  options: TestGatewayOptions = {},
): Promise<TestGateway> {
  const gateway = new TestGateway(dataDirOf(t), options);
  await addUsers(gateway.dataDir, usersFor(options), options.prepare);
  await gateway.start();
  t.teardown(async () => {
    const { exitCode } = gateway.process.process;
    if (exitCode === null) await gateway.process.kill();
    else if (exitCode !== 0) throw new Error(`the gateway has failed:\n${gateway.process.log()}`);
  });
  return gateway;
}

function usersFor({
  users = defaultUsers,
  plans = {},
  emails = [],
}: TestGatewayOptions): NewUser[] {
  const others = new Set(['basic', ...Object.keys(plans)]);
  others.delete('business');
  const counts: [plan: string, count: number][] = [
    ['business', users],
    ...[...others].map((plan): [string, number] => [plan, usersOfOtherPlans]),
  ];
  return [
    ...counts.flatMap(([plan, count]) =>
      Array.from({ length: count }, (_, index) => ({ email: emailOf(plan, index), plan })),
    ),
    ...emails.map((email) => ({ email, plan: 'business' })),
  ];
}

function emailOf(plan: string, index: number): string {
  return `${plan}-${index}@example.com`;
}
