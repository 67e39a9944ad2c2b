/**
 * What is asked of the gateway after each strike: that everything works, that limits are neither
 * loosened nor locked by the clock, that tokens end by the wall clock, and that the scrape is sane.
 */
import { bearer, call, createKey, login, signal as compose, submit } from '../../support/api.js';
import { askOps } from '../ask-ops.js';
import { eventually } from '../../support/eventually.js';
import { openPlugin } from '../../support/plugin.js';
import type { GatewayProcess } from '../../support/gateway-process.js';
import type { Verdict } from '../verdict.js';
import { DayModel, isNearMidnight } from './day-model.js';
import { limits, signalsPerDay, signalsPerMinute, type Person } from './users.js';
import { RateModel } from './rate-model.js';
import { ScrapeModel } from './scrape-model.js';
import type { WallClock } from './wall-clock.js';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const keyLifetimeMs = 2 * hourMs;
/** Nearer to an end than this nobody outside can tell. */
const nearMs = 5_000;
const requestsAtOnce = 8;
const requestsPerProbe = 160;
const dailyPerProbe = 5;
const quickPerProbe = 12;
const stepToleranceSeconds = 1;
const sourcesPath = '/api/v1/terminal-events/sources';
const roundsPerKey = 5;
const tokensJudged = 8;
const muteNames = 4;
const nearlyMs = 5;
const heartbeatMissed = 4002;
const replaced = 4501;

/** What ends at a wall time of the gateway. */
interface Mortal {
  readonly name: string;
  readonly endsAt: number;
  readonly ask: () => Promise<number>;
}

export class Probes {
  readonly #scrapes: ScrapeModel;
  readonly #keyRate: RateModel;
  readonly #signalRate: RateModel;
  readonly #day: DayModel;
  readonly #mortals: Mortal[] = [];
  #mortalKey: (Mortal & { readonly id: number }) | undefined;
  #round = 0;
  #muteOpen = 0;

  constructor(
    readonly gateway: GatewayProcess,
    readonly wall: WallClock,
    readonly verdict: Verdict,
    readonly quick: Person,
    readonly daily: Person,
  ) {
    this.#scrapes = new ScrapeModel(verdict);
    const { keyRequestsPerMinute } = limits;
    this.#keyRate = new RateModel('requests of a key', keyRequestsPerMinute, minuteMs, verdict);
    this.#signalRate = new RateModel('signals of a plan', signalsPerMinute, minuteMs, verdict);
    this.#day = new DayModel(signalsPerDay, verdict);
  }

  /** How often the limits said no. */
  get refusals(): number {
    return this.#keyRate.refusals + this.#signalRate.refusals;
  }

  async run(): Promise<void> {
    await this.#readiness();
    await this.#scrape();
    await this.#judgeMortals();
    await this.#rates();
    await this.#quotas();
    this.#openMute();
  }

  /** A terminal that says nothing is put out: never too soon, and surely in the end. */
  async finish(): Promise<void> {
    const isOut = await eventually(() => this.#muteOpen === 0).catch(() => false);
    this.verdict.hold('who is silent is put out in the end', isOut, () => this.#muteOpen);
  }

  async #readiness(): Promise<void> {
    const ask = async (): Promise<boolean> =>
      (await askOps(this.gateway.opsUrl, '/readyz')).status === 200;
    const isReady = await eventually(ask).catch(() => false);
    this.verdict.hold('it is ready', isReady, () => this.gateway.log());
  }

  async #scrape(): Promise<void> {
    // A scrape is kept for a second; one that began before the strike says nothing of it.
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

  /** A token of every round, and one key that is made anew now and then. */
  async #judgeMortals(): Promise<void> {
    const { url } = this.gateway;
    const { token } = await login(url, this.quick.email);
    this.#mortals.push({
      name: 'a user token',
      endsAt: this.wall.now() + limits.userTokenLifetimeMs,
      ask: async () => (await call(url, 'GET', '/api/api-keys', { headers: bearer(token) })).status,
    });
    if (this.#round++ % roundsPerKey === 0) await this.#renewKey(token);
    for (const mortal of this.#mortals.slice(-tokensJudged)) await this.#judge(mortal);
    if (this.#mortalKey !== undefined) await this.#judge(this.#mortalKey);
  }

  async #renewKey(token: string): Promise<void> {
    const { url } = this.gateway;
    const old = this.#mortalKey;
    const headers = bearer(token);
    if (old !== undefined) await call(url, 'DELETE', `/api/api-keys/${old.id}`, { headers });
    const endsAt = this.wall.now() + keyLifetimeMs;
    const expiresAt = new Date(endsAt).toISOString();
    const { key, id } = await createKey(url, token, { expiresAt });
    const ask = async (): Promise<number> =>
      (await call(url, 'GET', sourcesPath, { headers: bearer(key) })).status;
    this.#mortalKey = { name: 'a key', endsAt, ask, id };
  }

  async #judge({ name, endsAt, ask }: Mortal): Promise<void> {
    const leftMs = endsAt - this.wall.now();
    if (Math.abs(leftMs) < nearMs) return;
    const status = await ask();
    const isRight = status === (leftMs > 0 ? 200 : 401);
    this.verdict.hold(`${name} ends by the wall clock`, isRight, () => [status, leftMs]);
  }

  /** More than the limit, over some rounds. */
  async #rates(): Promise<void> {
    const { url } = this.gateway;
    const [key = ''] = this.quick.keys;
    let left = requestsPerProbe;
    const lane = async (): Promise<void> => {
      while (left-- > 0) {
        const sentAt = performance.now();
        const answer = await call(url, 'GET', sourcesPath, { headers: bearer(key) });
        const answeredAt = performance.now();
        if (answer.status === 200) this.#keyRate.granted(sentAt, answeredAt);
        else {
          left = 0;
          this.#keyRate.refused(sentAt, answeredAt, Number(answer.headers.get('retry-after')));
        }
      }
    };
    await Promise.all(Array.from({ length: requestsAtOnce }, lane));
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

  async #submit(person: Person) {
    const key = person.keys[1] as string;
    const answer = await submit(this.gateway.url, key, compose({ ts: this.wall.now() }));
    const isLimit = answer.status === 202 || answer.status === 429;
    this.verdict.hold('a signal is accepted, or over the limit', isLimit, () => answer.text);
    return answer;
  }

  #openMute(): void {
    const { heartbeatWindowMs } = limits;
    const instanceId = `mute-${this.#round % muteNames}`;
    const helloAt = performance.now();
    this.#muteOpen++;
    void openPlugin(this.gateway.url, this.quick.sessionToken, { instanceId })
      .then((plugin) => plugin.waitClosed())
      .then(({ code }) => {
        const livedMs = performance.now() - helloAt;
        const isInTime = code === heartbeatMissed && livedMs >= heartbeatWindowMs - nearlyMs;
        // The next one of the same name may have come first.
        const isRight = isInTime || code === replaced;
        this.verdict.hold('who is silent stays for the window', isRight, () => [code, livedMs]);
        this.#muteOpen--;
      });
  }
}
