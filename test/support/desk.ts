/**
 * A gateway process with traders to spare: each subtest takes a user of its own, so that limits and
 * terminals of one never touch another.
 */
import type { Test } from 'tap';
import { openStore } from '../../src/store/lmdb-store.js';
import type { Store } from '../../src/store/store.js';
import { call, createKey, login, status, submit, signal } from './api.js';
import { dataDirIn, startGateway, type GatewayProcess } from './gateway-process.js';
import { openPlugin, type Frame, type Plugin } from './plugin.js';
import { addUsers } from './users.js';

export interface Trader {
  readonly email: string;
  /** User JWT. */
  readonly token: string;
  readonly sessionToken: string;
  readonly key: string;
  readonly keyId: number;
}

/** An order that a plugin has been handed, as both sides know it. */
export interface HandedOrder {
  readonly requestId: string;
  readonly executionId: string;
  readonly orderRef: string;
  readonly frame: Frame;
}

export interface DeskOptions {
  readonly limits?: object;
  readonly traders?: number;
  /** Further parts of the config file. */
  readonly config?: object;
}

export class Desk {
  gateway: GatewayProcess;
  #taken = 0;

  constructor(
    readonly dataDir: string,
    readonly config: object,
    gateway: GatewayProcess,
  ) {
    this.gateway = gateway;
  }

  get url(): string {
    return this.gateway.url;
  }

  /** A user that no other subtest has, with a key of every scope. */
  async trader(keyFields: object = {}): Promise<Trader> {
    const email = emailOf(this.#taken++);
    const { token, sessionToken } = await login(this.url, email);
    const { key, id } = await createKey(this.url, token, keyFields);
    return { email, token, sessionToken, key, keyId: id };
  }

  plugin(trader: Trader, fields: object = {}): Promise<Plugin> {
    return openPlugin(this.url, trader.sessionToken, fields);
  }

  /** Starts again on the same directory; the ports are new ones. */
  async restart(end: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    if (end === 'SIGKILL') await this.gateway.kill();
    else await this.gateway.stop();
    this.gateway = await startGateway({ dataDir: this.dataDir, config: this.config });
  }

  /** Restarts the gateway, and works on its store meanwhile, which a running one has to itself. */
  async whileStopped<T>(work: (store: Store) => Promise<T>): Promise<T> {
    await this.gateway.stop();
    const store = openStore(this.dataDir);
    const result = await work(store).finally(() => store.close());
    this.gateway = await startGateway({ dataDir: this.dataDir, config: this.config });
    return result;
  }

  /** Submits an order and waits until the plugin has it. */
  async order(trader: Trader, plugin: Plugin, fields: object = {}): Promise<HandedOrder> {
    const requestId = await this.submit(trader, fields);
    const frame = await plugin.next('submit', { requestId });
    return { requestId, executionId: frame['executionId'], orderRef: frame['orderRef'], frame };
  }

  /** @returns the requestId. */
  async submit(trader: Trader, fields: object = {}): Promise<string> {
    const answer = await submit(this.url, trader.key, signal(fields));
    if (answer.status !== 202) throw new Error(`submit: ${answer.status} ${answer.text}`);
    return answer.body.requestId;
  }

  /** The request as a bot reads it. */
  async read(trader: Trader, requestId: string): Promise<any> {
    const answer = await status(this.url, trader.key, requestId);
    if (answer.status !== 200) throw new Error(`status: ${answer.status} ${answer.text}`);
    return answer.body;
  }

  /** The first execution of the request. */
  async execution(trader: Trader, requestId: string): Promise<any> {
    return (await this.read(trader, requestId)).executions[0];
  }

  /** Asks for the cancel of an order. */
  cancel(trader: Trader, orderRef: string, idempotencyKey = `cancel-${++cancels}`) {
    return call(this.url, 'POST', `/api/v1/orders/${orderRef}/cancel`, {
      headers: { authorization: `Bearer ${trader.key}`, 'idempotency-key': idempotencyKey },
    });
  }
}

let cancels = 0;

/** Sends a numbered frame and waits until the gateway says that it is on disk. */
export async function tell(plugin: Plugin, frame: { readonly seq: number }): Promise<void> {
  plugin.send(frame);
  await acknowledged(plugin, frame.seq);
}

/** Acknowledgements are cumulative: any at or above `seq` will do. */
export async function acknowledged(plugin: Plugin, seq: number): Promise<void> {
  while ((await plugin.next('ack'))['seq'] < seq);
}

export function report(seq: number, executionId: string, status: string, fields: object = {}) {
  return { type: 'report', seq, executionId, status, ...fields };
}

export function cancelReport(
  seq: number,
  cancelRequestId: string,
  status: string,
  fields: object = {},
) {
  return { type: 'cancel_report', seq, cancelRequestId, status, ...fields };
}

export function event(seq: number, fields: object = {}) {
  return {
    type: 'event',
    seq,
    event: 'terminal_message',
    data: { text: `word ${seq}` },
    ...fields,
  };
}

function emailOf(index: number): string {
  return `trader-${index}@example.com`;
}

/** Ends with the test. Limits that would only get in the way of many logins are raised. */
export async function openDesk(t: Test, options: DeskOptions = {}): Promise<Desk> {
  const dataDir = dataDirIn(t.testdir());
  await addUsers(
    dataDir,
    Array.from({ length: options.traders ?? 24 }, (_, index) => emailOf(index)),
  );
  const config = {
    ...options.config,
    limits: {
      loginAttemptsPerMinute: 10_000,
      unauthenticatedAttemptsPerMinute: 10_000,
      ...options.limits,
    },
  };
  const desk = new Desk(dataDir, config, await startGateway({ dataDir, config }));
  t.teardown(async () => {
    if (desk.gateway.process.exitCode === null) await desk.gateway.kill();
  });
  return desk;
}
