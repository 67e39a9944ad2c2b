/**
 * Everything that takes part in a run on time: one gateway process whose clock is in our hands, the
 * traffic that goes on all the while, and the checks that need all of it.
 */
import { join } from 'node:path';
import { bearer, call, json, login } from '../../support/api.js';
import type { Chance } from '../chance.js';
import { openReader, type EventReader } from '../../support/event-reader.js';
import { eventually } from '../../support/eventually.js';
import { startGateway, type GatewayProcess } from '../../support/gateway-process.js';
import type { Verdict } from '../verdict.js';
import {
  accountName,
  addPeople,
  config,
  createTerminals,
  instances,
  limits,
  meet,
  type Person,
  type Terminals,
} from './users.js';
import { Probes } from './probes.js';
import { SignalTrail } from './signal-log.js';
import { Trader } from './trader.js';
import { WallClock } from './wall-clock.js';

const keepAliveMs = 15_000;
/** This process may itself be held up on a busy machine: then its heartbeats are late. */
const stallMsMax = limits.heartbeatWindowMs / 3;
const stallLookMs = 50;
/** After which all that time does must have happened, with every terminal back. */
const restWithinMs = 60_000;

/** Between two looks at a request. */
const lookMs = 200;

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** @returns whether it came to be so. */
async function patiently(ask: () => Promise<boolean>): Promise<boolean> {
  const end = performance.now() + restWithinMs;
  while (!(await ask())) {
    if (performance.now() > end) return false;
    await sleep(lookMs);
  }
  return true;
}

export class Stage {
  readonly trail: SignalTrail;
  readonly trader: Trader;
  readonly terminals: Terminals;
  readonly probes: Probes;
  events = 0;
  #reads = 0;
  #isStalled = false;
  #isRestless = false;
  #wandering: Promise<void> = Promise.resolve();
  #lastSeq = 0;
  #epoch = '';
  #reader: EventReader | undefined;
  #readSince = 0;

  constructor(
    readonly gateway: GatewayProcess,
    readonly wall: WallClock,
    readonly person: Person,
    readonly chance: Chance,
    readonly verdict: Verdict,
    others: { readonly quick: Person; readonly daily: Person },
  ) {
    this.trail = new SignalTrail(limits, verdict);
    this.terminals = createTerminals(this.trail, chance, verdict, () => this.#isStalled);
    this.trader = new Trader({
      url: gateway.url,
      person,
      wall,
      trail: this.trail,
      chance: chance.child('trader'),
      verdict,
      idempotencyRetentionMs: limits.idempotencyRetentionMs,
    });
    this.probes = new Probes(gateway, wall, verdict, others.quick, others.daily);
    this.#watchStalls();
  }

  async begin(): Promise<void> {
    const { steady, patient } = this.terminals;
    for (const terminal of [steady, patient]) {
      if (!terminal.isConnected) await terminal.connect(this.gateway.url, this.person.sessionToken);
    }
    if (this.#reader === undefined) {
      // Only a source that has been seen can be followed.
      const [key = ''] = this.person.keys;
      const source = { instanceId: instances.patient, accountName };
      this.#reader = await openReader(this.gateway.url, key, { source });
      this.#readSince = performance.now();
    }
    this.#isRestless = true;
    this.#wandering = this.#wander();
    this.trader.start();
  }

  /** Every terminal is back and the bots are silent: everything comes to its end, late or not. */
  async comeToRest(): Promise<void> {
    await this.trader.stop();
    this.#isRestless = false;
    await this.#wandering;
    const { restless } = this.terminals;
    if (!restless.isConnected) await restless.connect(this.gateway.url, this.person.sessionToken);
    for (const signal of this.trail.open) {
      let view: any;
      const isSettled = await patiently(async () => {
        view = await this.trader.read(this.#nextKey(), signal);
        return this.trail.isSettled(signal, view);
      });
      const rule = 'every execution comes to the end that it was given';
      this.verdict.hold(rule, isSettled, () => [signal, view]);
      if (!isSettled) return;
    }
  }

  /** None of them must come to its limit. */
  #nextKey(): string {
    const { keys } = this.person;
    return keys[this.#reads++ % keys.length] as string;
  }

  /** Before the end of the gateway, which would put them out. */
  async leave(): Promise<void> {
    for (const terminal of Object.values(this.terminals)) await terminal.end();
    this.#reader?.close();
  }

  /** Of everything one, from the login to the event of the cancel. */
  async everythingWorks(): Promise<void> {
    const { gateway, verdict, trader, wall, person } = this;
    await login(gateway.url, person.email);
    const [, , key = ''] = person.keys;
    const signal = await trader.submit(key, {
      instanceId: instances.patient,
      ttlMs: 300_000,
      ts: wall.now(),
    });
    verdict.hold('a new signal is accepted', signal !== undefined, () => gateway.log());
    if (signal === undefined) return;
    let order: any;
    const isWorking = await patiently(async () => {
      [order] = (await trader.read(this.#nextKey(), signal)).executions;
      return order.status !== 'queued' && order.status !== 'dispatched';
    });
    verdict.hold('a new signal reaches its terminal', isWorking, () => order);
    const cancel = await call(gateway.url, 'POST', `/api/v1/orders/${order.orderRef}/cancel`, {
      headers: { ...json, ...bearer(key), 'idempotency-key': `works ${order.orderRef}` },
    });
    // On a slow machine the order may be over by now.
    const isTaken = cancel.status === 202 || cancel.status === 409;
    verdict.hold('a resting order can be cancelled', isTaken, () => cancel.text);
    const isTold = await eventually(() =>
      this.#reader?.events.some(({ data }) => data.executionId === order.executionId),
    ).catch(() => false);
    verdict.hold('its events come', isTold, () => this.#reader?.ended);
    this.#inspectEvents();
  }

  /** Ids that only grow, one life of the replay memory, no more comments than silence asks for. */
  #inspectEvents(): void {
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

  async #wander(): Promise<void> {
    const { restless } = this.terminals;
    const { gateway, person, verdict } = this;
    const chance = this.chance.child('wander');
    while (this.#isRestless) {
      await restless.disconnect();
      const failure = await restless
        .connect(gateway.url, person.sessionToken)
        .then(() => undefined)
        .catch((error: unknown) => error);
      verdict.hold('a terminal can come back', failure === undefined, () => failure);
      await sleep(chance.between(300, 2_500));
      await restless.disconnect(chance.happens(0.5));
      await sleep(chance.between(300, 7_000));
    }
  }

  #watchStalls(): void {
    let last = performance.now();
    setInterval(() => {
      const now = performance.now();
      this.#isStalled ||= now - last > stallMsMax;
      last = now;
    }, stallLookMs).unref();
  }
}

export async function openStage(
  directory: string,
  chance: Chance,
  verdict: Verdict,
  atExit: (stop: () => void) => void,
): Promise<Stage> {
  const wall = new WallClock(join(directory, 'clock'));
  const dataDir = join(directory, 'data');
  const gateway = await startGateway({ dataDir, config, environment: wall.environment });
  atExit(() => void gateway.process.kill('SIGKILL'));
  addPeople(dataDir, `${dataDir}.config.json`);
  const person = await meet(gateway.url, 'business');
  const others = {
    quick: await meet(gateway.url, 'quick'),
    daily: await meet(gateway.url, 'daily'),
  };
  return new Stage(gateway, wall, person, chance, verdict, others);
}
