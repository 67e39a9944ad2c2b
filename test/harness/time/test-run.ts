/**
 * Everything that takes part in a run: one gateway process with a controlled clock, its traffic, and
 * the checks that need all of it.
 */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { bearer, call, json, login } from '../../support/api.js';
import type { Chance } from '../chance.js';
import { openReader, type EventReader } from '../../support/event-reader.js';
import { eventually } from '../../support/eventually.js';
import { startGateway, type GatewayProcess } from '../../support/gateway-process.js';
import type { TradingTerminal } from '../trading-terminal.js';
import type { Verdict } from '../verdict.js';
import {
  accountName,
  addUsers,
  config,
  createTerminals,
  instances,
  limits,
  logInUser,
  type TestUser,
  type Terminals,
} from './users.js';
import { Probes } from './probes.js';
import { SignalLog } from './signal-log.js';
import { Trader } from './trader.js';
import { WallClock } from './wall-clock.js';

const keepAliveMs = 15_000;
/** After a longer stall of this process its heartbeats are late, which excuses a close within their window. */
const stallMsMax = limits.heartbeatWindowMs / 3;
const stallLookMs = 50;
/** With all terminals connected, every timeout has passed and every execution has ended within this time. */
const restWithinMs = 60_000;

/** Between two reads of a request. */
const readEveryMs = 200;

/** @returns whether `ask` became true within that time. */
async function becomesTrue(ask: () => Promise<boolean>): Promise<boolean> {
  const end = performance.now() + restWithinMs;
  while (!(await ask())) {
    if (performance.now() > end) return false;
    await sleep(readEveryMs);
  }
  return true;
}

export class TestRun {
  readonly signalLog: SignalLog;
  readonly trader: Trader;
  readonly terminals: Terminals;
  readonly probes: Probes;
  events = 0;
  #reads = 0;
  /** When this process last went on after a stall, on the monotonic clock. */
  #stalledAt = -Infinity;
  #reconnects = false;
  #reconnectLoop: Promise<void> = Promise.resolve();
  #lastSeq = 0;
  #epoch = '';
  #reader: EventReader | undefined;
  #readSince = 0;

  constructor(
    readonly gateway: GatewayProcess,
    readonly wall: WallClock,
    readonly user: TestUser,
    readonly chance: Chance,
    readonly verdict: Verdict,
    others: { readonly quick: TestUser; readonly daily: TestUser },
  ) {
    this.signalLog = new SignalLog(limits, verdict);
    this.terminals = createTerminals(
      this.signalLog,
      chance,
      verdict,
      () => performance.now() - this.#stalledAt < limits.heartbeatWindowMs,
    );
    this.trader = new Trader({
      url: gateway.url,
      user,
      wall,
      signalLog: this.signalLog,
      chance: chance.child('trader'),
      verdict,
    });
    this.probes = new Probes(gateway, wall, verdict, others.quick, others.daily);
    this.#watchStalls();
  }

  async begin(): Promise<void> {
    const { steady, resting } = this.terminals;
    await this.#connect([steady, resting]);
    if (this.#reader === undefined) {
      // The stream of a source exists only after its first hello.
      const [key = ''] = this.user.keys;
      const source = { instanceId: instances.resting, accountName };
      this.#reader = await openReader(this.gateway.url, key, { source });
      this.#readSince = performance.now();
    }
    this.#reconnects = true;
    this.#reconnectLoop = this.#reconnect();
    this.trader.start();
  }

  async #connect(terminals: readonly TradingTerminal[]): Promise<void> {
    for (const terminal of terminals) {
      if (!terminal.isConnected) await terminal.connect(this.gateway.url, this.user.sessionToken);
    }
  }

  /** Stops the bots, connects every terminal, and waits until every execution has ended. */
  async waitUntilSettled(): Promise<void> {
    await this.trader.stop();
    this.#reconnects = false;
    await this.#reconnectLoop;
    for (const signal of this.signalLog.open) {
      let view: any;
      const isSettled = await becomesTrue(async () => {
        // A gateway that was suspended may have closed connections as silent.
        await this.#connect(Object.values(this.terminals));
        view = await this.trader.read(this.#nextKey(), signal);
        return this.signalLog.isSettled(signal, view);
      });
      const rule = 'every execution comes to the end that it was given';
      this.verdict.hold(rule, isSettled, () => [signal, view]);
      if (!isSettled) return;
    }
  }

  /** Takes the keys in turn, so that none reaches its limit. */
  #nextKey(): string {
    const { keys } = this.user;
    return keys[this.#reads++ % keys.length] as string;
  }

  /** Disconnects terminals and reader before the gateway stops. */
  async disconnectAll(): Promise<void> {
    for (const terminal of Object.values(this.terminals)) await terminal.end();
    this.#reader?.close();
  }

  /** One of each operation: login, submit, read, cancel, and an event on the stream. */
  async checkAllOperations(): Promise<void> {
    const { gateway, verdict, trader, wall, user } = this;
    await login(gateway.url, user.email);
    const [, , key = ''] = user.keys;
    const signal = await trader.submit(key, {
      instanceId: instances.resting,
      ttlMs: 300_000,
      ts: wall.now(),
    });
    verdict.hold('a new signal is accepted', signal !== undefined, () => gateway.log());
    if (signal === undefined) return;
    let order: any;
    const isWorking = await becomesTrue(async () => {
      [order] = (await trader.read(this.#nextKey(), signal)).executions;
      return order.status !== 'queued' && order.status !== 'dispatched';
    });
    verdict.hold('a new signal reaches its terminal', isWorking, () => order);
    const cancel = await call(gateway.url, 'POST', `/api/v1/orders/${order.orderRef}/cancel`, {
      headers: { ...json, ...bearer(key), 'idempotency-key': `works ${order.orderRef}` },
    });
    // On a slow machine the order may have ended already.
    const isTaken = cancel.status === 202 || cancel.status === 409;
    verdict.hold('a resting order can be cancelled', isTaken, () => cancel.text);
    const isTold = await eventually(() =>
      this.#reader?.events.some(({ data }) => data.executionId === order.executionId),
    ).catch(() => false);
    verdict.hold('its events come', isTold, () => this.#reader?.ended);
    this.#checkEvents();
  }

  /**
   * Event ids only grow, the epoch stays, and keep-alive comments come no more often than documented.
   */
  #checkEvents(): void {
    const { verdict } = this;
    const reader = this.#reader as EventReader;
    for (const { id } of reader.events.splice(0)) {
      const [epoch = '', seq = ''] = id.split('-');
      const isNext = Number(seq) > this.#lastSeq && [epoch, ''].includes(this.#epoch);
      verdict.hold('events keep their order', isNext, () => [this.#epoch, this.#lastSeq, id]);
      this.#lastSeq = Number(seq);
      this.#epoch = epoch;
      this.events++;
    }
    const { ended, comments } = reader;
    verdict.hold('a stream that is read stays', ended === undefined, () => ended);
    const most = (performance.now() - this.#readSince) / keepAliveMs + 1;
    const isQuiet = comments.length <= most;
    verdict.hold('timers do not fire in storms', isQuiet, () => [comments.length, most]);
  }

  async #reconnect(): Promise<void> {
    const { reconnecting } = this.terminals;
    const { gateway, user, verdict } = this;
    const chance = this.chance.child('wander');
    while (this.#reconnects) {
      await reconnecting.disconnect();
      const failure = await reconnecting
        .connect(gateway.url, user.sessionToken)
        .then(() => undefined)
        .catch((error: unknown) => error);
      verdict.hold('a terminal can come back', failure === undefined, () => failure);
      await sleep(chance.between(300, 2_500));
      await reconnecting.disconnect(chance.happens(0.5));
      await sleep(chance.between(300, 7_000));
    }
  }

  #watchStalls(): void {
    let last = performance.now();
    setInterval(() => {
      const now = performance.now();
      if (now - last > stallMsMax) this.#stalledAt = now;
      last = now;
    }, stallLookMs).unref();
  }
}

export async function openTestRun(
  directory: string,
  chance: Chance,
  verdict: Verdict,
): Promise<TestRun> {
  const wall = new WallClock(join(directory, 'clock'));
  const dataDir = join(directory, 'data');
  const gateway = await startGateway({ dataDir, config, environment: wall.environment });
  await addUsers(dataDir, `${dataDir}.config.json`);
  const user = await logInUser(gateway.url, 'business');
  const others = {
    quick: await logInUser(gateway.url, 'quick'),
    daily: await logInUser(gateway.url, 'daily'),
  };
  return new TestRun(gateway, wall, user, chance, verdict, others);
}
