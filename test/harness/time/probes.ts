/**
 * The checks after each fault: the gateway is ready, limits are neither loosened nor locked by the
 * clock, tokens and keys expire by the wall clock, and the metrics are sane.
 */
import { hourMs, minuteMs } from '../../../src/lib/durations.js';
import { bearer, call, createKey, login, signal as compose, submit } from '../../support/api.js';
import { askOps } from '../ask-ops.js';
import { inParallel } from '../in-parallel.js';
import { eventually } from '../../support/eventually.js';
import { openPlugin } from '../../support/plugin.js';
import type { GatewayProcess } from '../../support/gateway-process.js';
import type { Verdict } from '../verdict.js';
import { DayModel, isNearMidnight } from './day-model.js';
import { limits, signalsPerDay, signalsPerMinute, type TestUser } from './users.js';
import { RateModel } from './rate-model.js';
import { ScrapeModel } from './scrape-model.js';
import type { WallClock } from './wall-clock.js';

const keyLifetimeMs = 2 * hourMs;
/** This close to its expiry the status of a credential is uncertain. */
const nearMs = 5_000;
const requestsAtOnce = 8;
/** Of each so many that the third probe is over the limit: the tests make three. */
const requestsPerProbe = 200;
const dailyPerProbe = 5;
const quickPerProbe = 20;
const stepToleranceSeconds = 1;
const sourcesPath = '/api/v1/terminal-events/sources';
const roundsPerKey = 5;
const tokensJudged = 8;
const silentNames = 4;
const nearlyMs = 5;
const heartbeatMissed = 4002;
const replaced = 4501;

/** A credential that expires at a wall time of the gateway. */
interface Expiring {
  readonly name: string;
  readonly endsAt: number;
  readonly ask: () => Promise<number>;
}

export class Probes {
  readonly #scrapes: ScrapeModel;
  readonly #keyRate: RateModel;
  readonly #signalRate: RateModel;
  readonly #day: DayModel;
  readonly #expiring: Expiring[] = [];
  #expiringKey: (Expiring & { readonly id: number }) | undefined;
  #round = 0;
  #silentPlugins = 0;

  constructor(
    readonly gateway: GatewayProcess,
    readonly wall: WallClock,
    readonly verdict: Verdict,
    readonly quick: TestUser,
    readonly daily: TestUser,
  ) {
    this.#scrapes = new ScrapeModel(verdict);
    const { keyRequestsPerMinute } = limits;
    this.#keyRate = new RateModel('requests of a key', keyRequestsPerMinute, minuteMs, verdict);
    this.#signalRate = new RateModel('signals of a plan', signalsPerMinute, minuteMs, verdict);
    this.#day = new DayModel(signalsPerDay, verdict);
  }

  /** Requests that a limit refused. */
  get refusals(): number {
    return this.#keyRate.refusals + this.#signalRate.refusals;
  }

  async run(): Promise<void> {
    await this.#readiness();
    await this.#scrape();
    await this.#checkExpiry();
    await this.#rates();
    await this.#quotas();
    this.#openSilentPlugin();
  }

  /** A plugin without heartbeats is closed after the window, and not before. */
  async finish(): Promise<void> {
    const isOut = await eventually(() => this.#silentPlugins === 0).catch(() => false);
    this.verdict.hold('who is silent is put out in the end', isOut, () => this.#silentPlugins);
  }

  async #readiness(): Promise<void> {
    const ask = async (): Promise<boolean> =>
      (await askOps(this.gateway.opsUrl, '/readyz')).status === 200;
    const isReady = await eventually(ask).catch(() => false);
    this.verdict.hold('it is ready', isReady, () => this.gateway.log());
  }

  async #scrape(): Promise<void> {
    // The gateway caches a scrape for a second: one from before the fault does not show it.
    const from = performance.now();
    const expected = (): number => this.wall.offsetMs / 1000;
    const seconds = await eventually(async () => {
      const { text } = await askOps(this.gateway.opsUrl, '/metrics');
      const step = this.#scrapes.inspect(text)('clock_step_seconds');
      const isRight = Math.abs(step - expected()) <= stepToleranceSeconds;
      return isRight || performance.now() - from > 20_000 ? { step } : undefined;
    });
    const isTold = Math.abs(seconds.step - expected()) <= stepToleranceSeconds;
    this.verdict.hold('the step of the clock is told', isTold, () => [seconds.step, expected()]);
  }

  /** One token per round, and one key that is replaced every few rounds. */
  async #checkExpiry(): Promise<void> {
    const { url } = this.gateway;
    const { token } = await login(url, this.quick.email);
    this.#expiring.push({
      name: 'a user token',
      endsAt: this.wall.now() + limits.userTokenLifetimeMs,
      ask: async () => (await call(url, 'GET', '/api/api-keys', { headers: bearer(token) })).status,
    });
    if (this.#round++ % roundsPerKey === 0) await this.#renewKey(token);
    for (const credential of this.#expiring.slice(-tokensJudged)) await this.#judge(credential);
    if (this.#expiringKey !== undefined) await this.#judge(this.#expiringKey);
  }

  async #renewKey(token: string): Promise<void> {
    const { url } = this.gateway;
    const old = this.#expiringKey;
    const headers = bearer(token);
    if (old !== undefined) await call(url, 'DELETE', `/api/api-keys/${old.id}`, { headers });
    const endsAt = this.wall.now() + keyLifetimeMs;
    const expiresAt = new Date(endsAt).toISOString();
    const { key, id } = await createKey(url, token, { expiresAt });
    const ask = async (): Promise<number> =>
      (await call(url, 'GET', sourcesPath, { headers: bearer(key) })).status;
    this.#expiringKey = { name: 'a key', endsAt, ask, id };
  }

  async #judge({ name, endsAt, ask }: Expiring): Promise<void> {
    const leftMs = endsAt - this.wall.now();
    if (Math.abs(leftMs) < nearMs) return;
    const status = await ask();
    const isRight = status === (leftMs > 0 ? 200 : 401);
    this.verdict.hold(`${name} ends by the wall clock`, isRight, () => [status, leftMs]);
  }

  async #rates(): Promise<void> {
    const { url } = this.gateway;
    const [key = ''] = this.quick.keys;
    await inParallel(requestsAtOnce, requestsPerProbe, async () => {
      const sentAt = performance.now();
      const answer = await call(url, 'GET', sourcesPath, { headers: bearer(key) });
      const answeredAt = performance.now();
      const isGranted = answer.status === 200;
      if (isGranted) this.#keyRate.granted(sentAt, answeredAt);
      else this.#keyRate.refused(sentAt, answeredAt, Number(answer.headers.get('retry-after')));
      return isGranted;
    });
    this.#keyRate.judgeRefusals();
  }

  async #quotas(): Promise<void> {
    for (let i = 0; i < quickPerProbe; i++) {
      const sentAt = performance.now();
      const answer = await this.#submit(this.quick);
      const answeredAt = performance.now();
      if (answer.status === 202) this.#signalRate.granted(sentAt, answeredAt);
      else this.#signalRate.refused(sentAt, answeredAt, Number(answer.headers.get('retry-after')));
    }
    this.#signalRate.judgeRefusals();
    for (let i = 0; i < dailyPerProbe && !isNearMidnight(this.wall.now()); i++) {
      const now = this.wall.now();
      const answer = await this.#submit(this.daily);
      if (answer.status === 202) this.#day.granted(Date.parse(answer.body.acceptedAt as string));
      else this.#day.refused(now, Number(answer.headers.get('retry-after')));
    }
  }

  async #submit(user: TestUser) {
    const key = user.keys[1] as string;
    const answer = await submit(this.gateway.url, key, compose({ ts: this.wall.now() }));
    const isLimit = answer.status === 202 || answer.status === 429;
    this.verdict.hold('a signal is accepted, or over the limit', isLimit, () => answer.text);
    return answer;
  }

  #openSilentPlugin(): void {
    const { heartbeatWindowMs } = limits;
    const instanceId = `mute-${this.#round % silentNames}`;
    const helloAt = performance.now();
    this.#silentPlugins++;
    void openPlugin(this.gateway.url, this.quick.sessionToken, { instanceId })
      .then((plugin) => plugin.waitClosed())
      .then(({ code }) => {
        const livedMs = performance.now() - helloAt;
        const isInTime = code === heartbeatMissed && livedMs >= heartbeatWindowMs - nearlyMs;
        // The next plugin of the same instanceId may have replaced it.
        const isRight = isInTime || code === replaced;
        this.verdict.hold('who is silent stays for the window', isRight, () => [code, livedMs]);
        this.#silentPlugins--;
      });
  }
}
