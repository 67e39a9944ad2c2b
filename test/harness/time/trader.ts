/**
 * The bots of one user: several lanes of signals, reads, cancels and replays that go on while the clock
 * is set. Their own clocks are right: `ts` is the gateway's time.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { acceptedAtOf } from '../../../src/lib/ids.js';
import { dayMs, minuteMs } from '../../../src/lib/durations.js';
import { bearer, call, json, signal as compose, type Answer } from '../../support/api.js';
import type { Chance } from '../chance.js';
import type { Verdict } from '../verdict.js';
import { limits, type TestUser } from './users.js';
import type { Signal, SignalLog } from './signal-log.js';
import type { WallClock } from './wall-clock.js';
import { cancellable } from '../../model/contract-states.js';

const lanes = 3;
/** A request without an answer is repeated after this time. */
const patienceMs = 1_500;
const recentMax = 40;
const oldMax = 400;

export interface TraderDeps {
  readonly url: string;
  readonly user: TestUser;
  readonly wall: WallClock;
  readonly signalLog: SignalLog;
  readonly chance: Chance;
  readonly verdict: Verdict;
}

export class Trader {
  submitted = 0;
  refusedForTheClock = 0;
  replayed = 0;
  readonly #deps: TraderDeps;
  #cancels = 0;
  readonly #old: Signal[] = [];
  #isStopped = false;
  #running: Promise<unknown> = Promise.resolve();

  constructor(deps: TraderDeps) {
    this.#deps = deps;
  }

  start(): void {
    this.#isStopped = false;
    this.#running = Promise.all(Array.from({ length: lanes }, (_, lane) => this.#lane(lane)));
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#running;
  }

  async #lane(lane: number): Promise<void> {
    const { chance } = this.#deps;
    let last: Signal | undefined;
    while (!this.#isStopped) {
      const key = this.#deps.user.keys[lane] as string;
      const action = chance.weigh({ submit: 50, read: 25, cancel: 10, replay: 15 });
      const old = this.#pick();
      if (action === 'submit' || old === undefined) {
        const signal = await this.submit(key);
        if (signal !== undefined && last !== undefined) this.#checkOrder(last, signal);
        last = signal ?? last;
      } else if (action === 'read') await this.read(key, old);
      else if (action === 'cancel') await this.#cancel(key, old);
      else await this.#replay(key, old);
      await pause(chance.between(100, 400));
    }
  }

  /** requestIds may fall only if the clock was set back by more than a day since the last of them. */
  #checkOrder(last: Signal, signal: Signal): void {
    const [before, after] = [last.requestId as string, signal.requestId as string];
    const shown = this.#deps.wall.shownSince(last.sentAt);
    const stepMs = Math.max(acceptedAtOf(before), ...shown) - Math.min(...shown);
    const isInOrder = after > before || stepMs > dayMs - minuteMs;
    this.#hold('requestIds only grow', isInOrder, () => [last, signal, shown]);
  }

  /** Sends a signal until it is answered. @returns the signal; undefined if it was refused. */
  async submit(key: string, fields: object = {}): Promise<Signal | undefined> {
    const { signalLog, wall, chance } = this.#deps;
    const signalId = `time-${++this.submitted}`;
    const ttlMs = chance.between(1_000, 6_000);
    const sentAt = performance.now();
    const body = JSON.stringify(
      compose({
        signalId,
        ttlMs,
        ts: wall.now(),
        instanceId: chance.happens(0.5) ? 'desk-0' : 'desk-1',
        ...fields,
      }),
    );
    const signal: Signal = {
      signalId,
      idempotencyKey: `key-${signalId}`,
      body,
      ttlMs: (JSON.parse(body) as { ttlMs: number }).ttlMs,
      sentAt,
      answeredAt: undefined,
      answer: undefined,
      requestId: undefined,
      acceptedAt: undefined,
      wasSetMeanwhile: false,
    };
    signalLog.signals.set(signalId, signal);
    const answer = await this.#post(key, '/api/v1/signals', signal.idempotencyKey, body);
    const answeredAt = performance.now();
    if (answer.status !== 202) {
      // The signal was built before the clock was set, or waited longer than its TTL.
      const isExcused =
        wall.wasSetBetween(sentAt, answeredAt) || answeredAt - sentAt >= signal.ttlMs;
      const codes = (answer.body?.error?.details ?? []).map(({ code }: { code: string }) => code);
      const isForTime = codes.every(
        (code: string) => code === 'signal_expired' || code === 'signal_from_future',
      );
      const isRight = answer.status === 422 && isForTime && isExcused;
      this.#hold('a signal of the right time is accepted', isRight, () => [signal, answer.text]);
      this.refusedForTheClock++;
      return undefined;
    }
    signal.answer = answer.text;
    signal.requestId = answer.body.requestId as string;
    signal.acceptedAt = Date.parse(answer.body.acceptedAt as string);
    signal.answeredAt = answeredAt;
    signal.wasSetMeanwhile = wall.wasSetBetween(sentAt, answeredAt);
    signalLog.accepted(signal);
    this.#old.push(signal);
    if (this.#old.length > oldMax) this.#old.shift();
    return signal;
  }

  /** @returns the body of GET /signals/{requestId}. */
  async read(key: string, signal: Signal): Promise<any> {
    const path = `/api/v1/signals/${String(signal.requestId)}`;
    const answer = await call(this.#deps.url, 'GET', path, { headers: bearer(key) });
    this.#hold('a request can be read', answer.status === 200, () => [signal, answer.text]);
    if (answer.status !== 200) return { executions: [] };
    this.#deps.signalLog.inspect(signal, answer.body, performance.now());
    return answer.body;
  }

  async #cancel(key: string, signal: Signal): Promise<void> {
    const [order] = (await this.read(key, signal)).executions;
    if (order === undefined || !cancellable.includes(order.status)) return;
    const path = `/api/v1/orders/${order.orderRef}/cancel`;
    const answer = await this.#post(key, path, `cancel-${++this.#cancels}`);
    const isRight = answer.status === 202 || answer.status === 409;
    this.#hold('a cancel is taken or refused', isRight, () => answer.text);
  }

  /** Within the retention, by the gateway's clock, a replay gets the stored answer; later a refusal. */
  async #replay(key: string, signal: Signal): Promise<void> {
    const { wall } = this.#deps;
    const sentAt = performance.now();
    const answer = await this.#post(key, '/api/v1/signals', signal.idempotencyKey, signal.body);
    if (wall.wasSetBetween(sentAt, performance.now())) return;
    this.replayed++;
    const ageMs = wall.now() - (signal.acceptedAt as number);
    const evidence = (): unknown => [signal, ageMs, answer.status, answer.text];
    if (answer.status === 202) {
      this.#hold('a replay is the stored answer', answer.text === signal.answer, evidence);
    } else {
      const isOld = ageMs >= limits.idempotencyRetentionMs - patienceMs;
      this.#hold('what is young is replayed', isOld, evidence);
      const code = answer.body?.error?.code as string;
      const isRefused = code === 'invalid_signal' || code === 'duplicate_signal_id';
      this.#hold('what is old is refused', isRefused, evidence);
    }
  }

  /** Repeats the request under the same key until an answer comes. */
  async #post(key: string, path: string, idempotencyKey: string, body?: string): Promise<Answer> {
    const headers = { ...json, ...bearer(key), 'idempotency-key': idempotencyKey };
    for (;;) {
      const options = { headers, signal: AbortSignal.timeout(patienceMs) };
      const asked = body === undefined ? options : { ...options, body };
      try {
        const answer = await call(this.#deps.url, 'POST', path, asked);
        if (answer.body?.error?.code !== 'request_in_progress') return answer;
      } catch (error) {
        if (!(error instanceof Error) || error.name !== 'TimeoutError') throw error;
      }
      await pause(50);
    }
  }

  #pick(): Signal | undefined {
    const { chance } = this.#deps;
    if (this.#old.length === 0) return undefined;
    return chance.pick(chance.happens(0.6) ? this.#old.slice(-recentMax) : this.#old);
  }

  #hold(rule: string, holds: boolean, evidence: () => unknown): void {
    this.#deps.verdict.hold(rule, holds, evidence);
  }
}
