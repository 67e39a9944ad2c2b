/**
 * The soak's traffic: actions at a fixed rate (open loop), each with the answers that are allowed.
 * Pending actions are bounded, so that a hanging gateway is not flooded.
 */
import { setTimeout as pause } from 'node:timers/promises';
import {
  bearer,
  call,
  createKey,
  json,
  login,
  signal,
  patiently,
  status,
  submit,
} from '../../support/api.js';
import { openReader } from '../../support/event-reader.js';
import type { Chance } from '../chance.js';
import type { TradingTerminal } from '../trading-terminal.js';
import type { Verdict } from '../verdict.js';
import type { Population } from './population.js';
import type { SentSignal, SoakUser } from './soak-user.js';
import { cancellable } from '../../model/contract-states.js';

const weights = {
  submit: 5_000,
  read: 2_400,
  cancel: 900,
  replay: 600,
  refused: 500,
  listSources: 200,
  sendEvent: 200,
  reconnect: 60,
  follow: 80,
  logIn: 25,
  rotateKey: 25,
} as const;

export type Action = keyof typeof weights;

const tickMs = 10;
const pendingMax = 500;
const streamsPerUser = 3;
/** Longer than delivery takes on a busy machine. */
const ttlMs = 60_000;
/** Replays are sent well within the retention of Idempotency-Keys. */
const replayedWithinMs = 5_000;

/** Requests that must be refused, with their status. */
// oxfmt-ignore
const refusals: readonly { readonly status: number; readonly ask: (url: string, key: string) => Promise<{ status: number }> }[] = [
  { status: 400, ask: (url, key) => submit(url, key, '{"v":1,') },
  { status: 422, ask: (url, key) => submit(url, key, signal({ ttlMs: 0, platform: 'nobody' })) },
  { status: 415, ask: (url, key) => call(url, 'POST', '/api/v1/signals', { headers: bearer(key), body: '{}' }) },
  { status: 400, ask: (url, key) => call(url, 'POST', '/api/v1/signals', { headers: { ...json, ...bearer(key) }, body: '{}' }) },
  { status: 404, ask: (url, key) => status(url, key, 'req_01ARZ3NDEKTSV4RRFFQ69G5FAV') },
  { status: 401, ask: (url) => status(url, 'svc_api_nobody', 'req_01ARZ3NDEKTSV4RRFFQ69G5FAV') },
  { status: 404, ask: (url, key) => call(url, 'GET', '/api/v1/nothing', { headers: bearer(key) }) },
];

export class Traffic {
  readonly done: Record<Action, number>;
  skipped = 0;
  #pending = 0;
  readonly #reconnecting = new WeakSet<TradingTerminal>();
  #count = 0;
  #timer: NodeJS.Timeout | undefined;
  readonly #actions: Readonly<Record<Action, (user: SoakUser) => Promise<void>>> = {
    submit: (user) => this.#submit(user),
    read: async (user) => {
      const sent = this.#recentOf(user);
      if (sent === undefined) return;
      const answer = await status(this.url, user.key, sent.requestId);
      this.#expect('read', user, answer, [200]);
    },
    cancel: (user) => this.#cancel(user),
    replay: async (user) => {
      const sent = this.#recentOf(user);
      if (sent === undefined || performance.now() - sent.sentAt > replayedWithinMs) return;
      const answer = await submit(this.url, user.key, sent.body, sent.idempotencyKey);
      const isSame = answer.status !== 202 || answer.text === sent.answer;
      this.verdict.hold('a replay is the stored answer', isSame, () => [sent.answer, answer.text]);
      this.#expect('replay', user, answer, [202]);
    },
    refused: async (user) => {
      const { status: expected, ask } = this.chance.pick(refusals);
      this.#expect('refused', user, await ask(this.url, user.key), [expected]);
    },
    listSources: async (user) => {
      const path = '/api/v1/terminal-events/sources';
      const answer = await call(this.url, 'GET', path, { headers: bearer(user.key) });
      this.#expect('listSources', user, answer, [200]);
    },
    sendEvent: async (user) => {
      this.chance.pick(user.terminals).sendEvent('x'.repeat(this.chance.between(1, 2_000)));
    },
    reconnect: async (user) => {
      const terminal = this.chance.pick(user.terminals);
      if (this.#reconnecting.has(terminal)) return;
      this.#reconnecting.add(terminal);
      await terminal.disconnect(this.chance.happens(0.5));
      await pause(this.chance.between(0, 1_500));
      if (!user.isLeaving) await terminal.connect(this.url, user.sessionToken);
      this.#reconnecting.delete(terminal);
    },
    follow: (user) => this.#follow(user),
    logIn: async (user) => {
      await login(this.url, user.email);
    },
    rotateKey: async (user) => {
      const { id } = await createKey(this.url, user.token, { name: 'for a moment' });
      const headers = bearer(user.token);
      const path = `/api/api-keys/${id}`;
      const answer = await patiently(() => call(this.url, 'DELETE', path, { headers }));
      this.#expect('rotateKey', user, answer, [204]);
    },
  };

  constructor(
    readonly url: string,
    readonly population: Population,
    readonly chance: Chance,
    readonly verdict: Verdict,
  ) {
    this.done = Object.fromEntries(
      Object.keys(weights).map((action) => [action, 0]),
    ) as typeof this.done;
  }

  get total(): number {
    return Object.values(this.done).reduce((sum, count) => sum + count, 0);
  }

  /** `rate`: actions per second. */
  start(rate: number): void {
    const startedAt = performance.now();
    let begun = 0;
    this.#timer = setInterval(() => {
      const due = ((performance.now() - startedAt) / 1000) * rate;
      for (; begun < due; begun++) this.#begin();
    }, tickMs);
  }

  /** Resolves when no action is pending. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    while (this.#pending > 0) await pause(tickMs);
  }

  #begin(): void {
    if (this.#pending >= pendingMax) {
      this.skipped++;
      return;
    }
    const action = this.chance.weigh(weights);
    const user = this.chance.pick(this.population.users);
    this.#pending++;
    this.#actions
      [action](user)
      .then(
        () => this.done[action]++,
        (error: unknown) =>
          this.verdict.hold('no action fails', user.isLeaving, () => [action, error]),
      )
      .finally(() => this.#pending--);
  }

  async #submit(user: SoakUser): Promise<void> {
    const idempotencyKey = `idem-${++this.#count}`;
    const body = JSON.stringify(
      signal({
        ttlMs,
        instanceId: this.chance.pick(['desk-0', 'desk-1']),
        platform: this.chance.happens(0.05) ? 'terminal_b' : 'terminal_a',
        payload: {
          instrument: 'ES',
          side: 'buy',
          executionType: 'limit',
          limitPrice: 100,
          quantity: 2,
          note: 'x'.repeat(this.chance.between(0, 600)),
        },
      }),
    );
    const sentAt = performance.now();
    const answer = await submit(this.url, user.key, body, idempotencyKey);
    this.#expect('submit', user, answer, [202]);
    if (answer.status !== 202) return;
    const { requestId } = answer.body as { requestId: string };
    user.remember({ requestId, idempotencyKey, body, answer: answer.text, sentAt });
  }

  async #cancel(user: SoakUser): Promise<void> {
    const sent = this.#recentOf(user);
    if (sent === undefined) return;
    const read = await status(this.url, user.key, sent.requestId);
    this.#expect('read', user, read, [200]);
    const order = read.body?.executions?.[0];
    if (order === undefined || !cancellable.includes(order.status)) return;
    const path = `/api/v1/orders/${order.orderRef}/cancel`;
    const headers = { ...bearer(user.key), 'idempotency-key': `cancel-${++this.#count}` };
    const answer = await patiently(() => call(this.url, 'POST', path, { headers }));
    // The order may have ended since the read, or the terminal may have disconnected.
    this.#expect('cancel', user, answer, [202, 409]);
  }

  async #follow(user: SoakUser): Promise<void> {
    if (user.openStreams >= streamsPerUser) return;
    user.openStreams++;
    try {
      const { source } = this.chance.pick(user.terminals);
      const reader = await openReader(this.url, user.key, { source });
      // A source exists from its first hello on, also while its terminal is disconnected.
      this.#expect('follow', user, reader, [200]);
      await pause(this.chance.between(200, 6_000));
      reader.close();
      await reader.waitEnd();
    } finally {
      user.openStreams--;
    }
  }

  #recentOf(user: SoakUser): SentSignal | undefined {
    return user.recent.length === 0 ? undefined : this.chance.pick(user.recent);
  }

  #expect(
    action: Action,
    user: SoakUser,
    answer: { readonly status: number; readonly text?: string },
    expected: readonly number[],
  ): void {
    const isRight = expected.includes(answer.status) || user.isLeaving;
    this.verdict.hold('every action is answered as it must be', isRight, () => [
      action,
      answer.status,
      answer.text,
    ]);
  }
}
