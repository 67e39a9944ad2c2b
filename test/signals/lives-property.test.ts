/**
 * Random lives of a gateway on a clock that advances with every look at it, across boundaries of time,
 * connections that break, commits that fail and kills: every accepted execution reaches one end by moves that
 * the table of states allows, no submit frame leaves after its TTL, and nothing stays in memory.
 */
import assert from 'node:assert/strict';
import t from 'tap';
import { halt, resumeTrading } from '../../src/auth/brakes.js';
import { dayMs, hourMs, minuteMs } from '../../src/lib/durations.js';
import {
  type ExecutionStatus,
  isFinal,
  mayMove,
  reportableStatuses,
} from '../../src/model/execution.js';
import { StoreFailure } from '../../src/store/store.js';
import type { Frame } from '../support/plugin.js';
import type { ScriptedPlugin } from '../support/scripted-plugin.js';
import { actsOf, oneOf, playStories } from '../support/random-acts.js';
import { SimulatedGateway } from '../support/simulated-gateway.js';
import type { SimulatedClock } from '../support/simulated-clock.js';
import { TickingClock } from '../support/ticking-clock.js';
import { Story } from './story.js';
import { reportedCancels } from '../model/contract-states.js';

/** Most looks at the clock, of 1 ms each, between the decision to send and the frame. */
const ticksMax = 20;

/** How often each act is taken, relative to the others. */
const weights = {
  accept: 10,
  turn: 5,
  turns: 10,
  connect: 4,
  drop: 2,
  congest: 1,
  drain: 2,
  acknowledge: 6,
  report: 10,
  'acknowledge the cancel': 2,
  'report the cancel': 4,
  cancel: 4,
  'cancel all': 1,
  arm: 2,
  disarm: 1,
  halt: 1,
  resume: 2,
  'a commit fails': 1,
  'a commit fails that is kept': 1,
  recover: 2,
  pass: 3,
  'step the clock': 1,
  'kill in a commit that is lost': 1,
  'kill in a commit that is kept': 1,
};

type Act = keyof typeof weights;

const acts = actsOf(weights, 1_000);

/** Times at and just before which something ends. */
const boundaries = [5_000, 10_000, 30_000, minuteMs, 23 * hourMs, dayMs].flatMap((ms) => [
  ms - 10,
  ms - 5,
  ms,
]);
const ttls = [1_000, 5_000, minuteMs, 10 * minuteMs, 10 * minuteMs];
const reports = ['working', 'partially_filled', 'working', ...reportableStatuses];

class Life extends Story {
  gateway = new SimulatedGateway({ clock: new TickingClock() });
  /** executionIds of the signals that were answered with 202. */
  readonly accepted = new Set<string>();
  #signals = 0;
  #seq = 0;
  #told = 0;
  readonly #statuses = new Map<string, ExecutionStatus>();

  async take(act: Act, pick = 0): Promise<void> {
    await this.#act[act](pick);
    this.look();
  }

  readonly #act: Readonly<Record<Act, (pick: number) => unknown>> = {
    ...this.common,
    accept: (pick) => {
      const name = `s${++this.#signals}`;
      const wish = {
        signalId: name,
        idempotencyKey: name,
        keyId: 1 + (pick % 2),
        ttlMs: oneOf(ttls, pick),
      };
      this.gateway.accept(wish, (answer) => {
        if (typeof answer !== 'object') return;
        for (const { executionId } of answer.executions) this.accepted.add(executionId);
      });
    },
    connect: () => {
      this.look();
      this.plugin = this.gateway.connect({ expiresAt: Number.MAX_SAFE_INTEGER });
      neverLate(this.plugin, this.gateway.clock);
      this.plugin.hello();
    },
    acknowledge: (pick) =>
      this.#say('submit', pick, ({ executionId }) => ({ type: 'ack', executionId })),
    report: (pick) =>
      this.#say('submit', pick, ({ executionId }) => ({
        type: 'report',
        seq: ++this.#seq,
        executionId,
        status: oneOf(reports, pick),
      })),
    'acknowledge the cancel': (pick) =>
      this.#say('cancel', pick, ({ cancelRequestId }) => ({ type: 'ack', cancelRequestId })),
    'report the cancel': (pick) =>
      this.#say('cancel', pick, ({ cancelRequestId }) => ({
        type: 'cancel_report',
        seq: ++this.#seq,
        cancelRequestId,
        status: oneOf(reportedCancels, pick),
      })),
    cancel: async (pick) => {
      if (this.accepted.size === 0) return;
      const executionId = oneOf([...this.accepted], pick);
      if (this.gateway.book.find('u1', executionId) === undefined) return;
      await this.gateway.cancel(executionId, `c${++this.#signals}`);
    },
    'cancel all': () => void this.gateway.cancelAllNow(),
    arm: () => this.gateway.core.cancelAfter.set('u1', 1, 5_000, () => undefined),
    disarm: () => this.gateway.core.cancelAfter.set('u1', 1, 0, () => undefined),
    halt: () => this.#commit((transaction) => halt(transaction, null, 1)),
    resume: () => this.#commit((transaction) => resumeTrading(transaction)),
    pass: (pick) => this.gateway.pass(oneOf(boundaries, pick)),
    'step the clock': (pick) => this.gateway.clock.stepWall(oneOf([-5_000, -10, 10, 5_000], pick)),
    'kill in a commit that is lost': () => this.#kill('lost'),
    'kill in a commit that is kept': () => this.#kill('kept'),
  };

  #say(type: string, pick: number, frameOf: (heard: Frame) => object): void {
    if (this.plugin === undefined || this.plugin.closed !== undefined) return;
    const heard = this.plugin.of(type);
    if (heard.length > 0) this.plugin.say(frameOf(oneOf(heard, pick)));
  }

  async #commit(work: Parameters<SimulatedGateway['store']['transact']>[0]): Promise<void> {
    const stopped = this.gateway.store.transact(work).then(
      () => this.gateway.core.endUnsent(),
      (error: unknown) => assert(error instanceof StoreFailure),
    );
    await this.inTime(stopped);
  }

  async #kill(fate: 'lost' | 'kept'): Promise<void> {
    await this.die(fate);
    this.look();
    const clock = new TickingClock(this.gateway.clock.now());
    this.gateway = this.gateway.restart({ clock });
    this.#told = 0;
    this.#statuses.clear();
  }

  /** Judges the changes that were announced since the last look. */
  protected look(): void {
    const { changes } = this.gateway;
    for (const [, before, after] of changes.slice(this.#told)) {
      const was = before?.status ?? after.status;
      assert.equal(was, this.#statuses.get(after.executionId) ?? was, 'what was told before');
      const isAllowed =
        was === after.status || mayMove(was, after.status) || after.status === 'filled';
      assert(isAllowed, `${after.executionId}: ${was}, then ${after.status}`);
      this.#statuses.set(after.executionId, after.status);
    }
    this.#told = changes.length;
  }

  /** Lets every timeout pass while the terminal stays away, and checks that every order has ended. */
  async finish(): Promise<void> {
    this.gateway.memory.failNextCommits(0);
    for (const act of ['recover', 'resume', 'drop', 'turns'] as const) await this.take(act);
    await this.gateway.pass(2 * dayMs, 6 * hourMs);
    await this.gateway.pass(31 * dayMs, 2 * dayMs);
    await this.gateway.pass(4 * hourMs, hourMs);
    this.look();
    const { book, store } = this.gateway;
    for (const executionId of this.accepted) {
      const execution = this.gateway.durable(executionId);
      assert(execution !== undefined, `${executionId} was accepted and is lost`);
      assert(isFinal(execution.status), `${executionId} is ${execution.status} for ever`);
    }
    assert.deepEqual(
      store
        .range('openExecutions')
        .map(({ record }) => [record.executionId, record.status, record.cancel?.status]),
      [],
    );
    assert.equal(book.size, 0, 'what is over stays in memory');
    assert.deepEqual([book.openOrders.of(1), book.openOrders.of(2)], [0, 0]);
  }
}

/** Throws when a submit frame leaves after its TTL. */
function neverLate(plugin: ScriptedPlugin, clock: SimulatedClock): void {
  const send = plugin.send.bind(plugin);
  plugin.send = (text) => {
    const { type, expiresAt } = JSON.parse(text) as { type: string; expiresAt?: string };
    const lateMs = clock.now() - Date.parse(expiresAt ?? '');
    assert(type !== 'submit' || lateMs < ticksMax, `sent ${lateMs} ms after its TTL`);
    return send(text);
  };
}

t.test('what was accepted has one end, and leaves memory', () =>
  playStories(acts, { minLength: 20, maxLength: 100 }, 100, async (all) => {
    const life = new Life();
    await life.take('connect');
    await life.take('turns');
    for (const { act, pick } of all) await life.take(act, pick);
    await life.finish();
  }),
);
