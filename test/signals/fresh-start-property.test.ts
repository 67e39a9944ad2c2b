/**
 * Random lives of two users with the operator's commands, on a disk that hangs, fails, refuses and recovers, across
 * kills. Once the disk is well, memory holds what the disk holds, and what a fresh start computes from it: the
 * executions of the book, the open orders of each key, the quota of the day, the switches and the terminals.
 */
import assert from 'node:assert/strict';
import t from 'tap';
import { accountOperations } from '../../src/admin/account-operations.js';
import { keyOperations } from '../../src/admin/key-operations.js';
import type { OperationContext } from '../../src/admin/operation.js';
import { upkeepOperations } from '../../src/admin/upkeep-operations.js';
import { putApiKey } from '../../src/auth/api-key.js';
import { minuteMs } from '../../src/lib/durations.js';
import { createIdSource } from '../../src/lib/ids.js';
import { isFinalCancel } from '../../src/model/cancellation.js';
import { isCancellable, isSettled, reportableStatuses } from '../../src/model/execution.js';
import { shippedPlans } from '../../src/plans.js';
import { shippedPlatforms } from '../../src/platforms.js';
import { recover } from '../../src/signals/moves.js';
import { fromRecord, recordOf } from '../../src/signals/stored-execution.js';
import { StoreFailure } from '../../src/store/store.js';
import {
  actsOf,
  diskWeights,
  FailingDisk,
  oneOf,
  plain,
  playStories,
} from '../support/random-acts.js';
import type { ScriptedPlugin } from '../support/scripted-plugin.js';
import {
  SimulatedGateway,
  turns,
  unlimited,
  user as someUser,
} from '../support/simulated-gateway.js';
import { reportedCancels } from '../model/contract-states.js';

const limits = { staleProcessingMs: 5_000 };
/** Each with its keys. */
const users = { u1: [1, 2], u2: [3, 4] } as const;
type UserId = keyof typeof users;
const userIds = Object.keys(users) as UserId[];
const ttls = [2_000, 40_000, 300_000];
const emailOf = (userId: UserId): string => `${userId}@example.com`;

const weights = {
  submit: 14,
  connect: 5,
  drop: 3,
  acknowledge: 5,
  report: 10,
  'acknowledge the cancel': 2,
  'report the cancel': 4,
  cancel: 5,
  'cancel all': 3,
  arm: 3,
  halt: 1,
  resume: 2,
  freeze: 1,
  unfreeze: 3,
  revoke: 1,
  move: 1,
  turn: 8,
  turns: 6,
  ...diskWeights,
  'half a second passes': 3,
  'three seconds pass': 2,
  'a minute passes': 1,
  'kill in a commit that is lost': 1,
  'kill in a commit that is kept': 1,
};

type Act = keyof typeof weights;

const acts = actsOf(weights, 10_000);

class Terminal {
  plugin: ScriptedPlugin | undefined;
  readonly orders = new Set<string>();
  readonly cancels = new Set<string>();
  seq = 0;

  get isOpen(): boolean {
    return this.plugin !== undefined && this.plugin.closed === undefined;
  }

  read(): void {
    for (const { type, ...frame } of this.plugin?.frames.splice(0) ?? []) {
      if (type === 'submit') this.orders.add(String(frame['executionId']));
      if (type === 'cancel') this.cancels.add(String(frame['cancelRequestId']));
    }
  }

  say(frame: object | undefined): void {
    if (this.isOpen && frame !== undefined) this.plugin?.say(frame);
  }

  drop(): void {
    if (this.isOpen) this.plugin?.drop();
  }
}

class Life {
  gateway = new SimulatedGateway({ limits });
  readonly #disk = new FailingDisk(() => this.gateway.memory);
  readonly #terminals = { u1: new Terminal(), u2: new Terminal() };
  readonly #ending: OperationContext['ending'] = new Set();
  #names = 0;

  readonly #act: Readonly<Record<Act, (userId: UserId, pick: number) => unknown>> = {
    submit: (userId, pick) => this.#submit(userId, pick),
    connect: (userId) => this.#connect(userId),
    drop: (userId) => this.#terminals[userId].drop(),
    acknowledge: (userId, pick) => {
      const { orders } = this.#terminals[userId];
      this.#terminals[userId].say(
        about(orders, pick, (executionId) => ({ type: 'ack', executionId })),
      );
    },
    report: (userId, pick) => this.#report(userId, pick),
    'acknowledge the cancel': (userId, pick) => {
      const terminal = this.#terminals[userId];
      terminal.say(
        about(terminal.cancels, pick, (cancelRequestId) => ({ type: 'ack', cancelRequestId })),
      );
    },
    'report the cancel': (userId, pick) => {
      const terminal = this.#terminals[userId];
      const frame = about(terminal.cancels, pick, (cancelRequestId) => {
        const status = oneOf(reportedCancels, pick >> 3);
        return { type: 'cancel_report', seq: ++terminal.seq, cancelRequestId, status };
      });
      terminal.say(frame);
    },
    cancel: (userId, pick) => this.#cancel(userId, pick),
    'cancel all': (userId) => {
      const { core } = this.gateway;
      if (!this.#mayChange(userId)) return;
      const order = { userId, isMeant: () => true, cause: 'cancelled_by_operator' } as const;
      this.#operate(core.cancelOrders(order));
    },
    arm: (userId, pick) => {
      if (!this.#mayChange(userId)) return;
      const timeoutMs = pick % 4 === 0 ? 0 : 5_000;
      this.gateway.core.cancelAfter.set(
        userId,
        oneOf(users[userId], pick),
        timeoutMs,
        () => undefined,
      );
    },
    halt: () => this.#operate(accountOperations['trading.halt'].run(this.#context, {})),
    resume: () => this.#operate(accountOperations['trading.resume'].run(this.#context)),
    freeze: (userId) => this.#freeze(userId, true),
    unfreeze: (userId) => this.#freeze(userId, false),
    revoke: (userId, pick) =>
      this.#operate(
        keyOperations['key.revoke'].run(this.#context, { id: oneOf(users[userId], pick) }),
      ),
    move: (userId) => {
      const wanted = { email: emailOf(userId), freeze: true };
      const rows = {
        send: () => turns(1).then(() => true),
        next: () => Promise.resolve('end' as const),
      };
      this.#operate(upkeepOperations['user.export'].run(this.#context, wanted, rows));
    },
    turn: () => turns(1),
    turns: () => turns(),
    ...this.#disk.acts,
    'half a second passes': () => this.#pass(500),
    'three seconds pass': () => this.#pass(3_000),
    'a minute passes': () => this.#pass(minuteMs),
    'kill in a commit that is lost': () => this.#kill('lost'),
    'kill in a commit that is kept': () => this.#kill('kept'),
  };

  async begin(): Promise<void> {
    await this.gateway.store.write((batch) => {
      for (const userId of userIds) {
        batch.put('users', userId, { ...someUser, userId, email: emailOf(userId) });
        batch.put('emails', emailOf(userId), userId);
        for (const id of users[userId]) {
          putApiKey(batch, `hash ${id}`, {
            ...{ id, userId, name: '', displayPrefix: '', scopes: [] },
            ...{ createdAt: 0, expiresAt: null, revokedAt: null, limits: null },
          });
        }
      }
    });
    for (const userId of userIds) this.#connect(userId);
  }

  async take(act: Act, pick: number): Promise<void> {
    await this.#act[act](oneOf(userIds, pick), pick >> 1);
    for (const userId of userIds) this.#terminals[userId].read();
  }

  get #context(): OperationContext {
    const { store, clock, core, trail, limits } = this.gateway;
    return {
      ...{ store, clock, trail, effects: core, ids: createIdSource(clock) },
      settings: { dataDir: '', plans: shippedPlans, platforms: shippedPlatforms, limits },
      ...{ importing: new Set(), ending: this.#ending },
    };
  }

  /** An operation may fail as the disk does. */
  #operate(operation: Promise<unknown>): void {
    operation.catch((error: unknown) => assert(error instanceof StoreFailure, String(error)));
  }

  #freeze(userId: UserId, frozen: boolean): void {
    const email = emailOf(userId);
    this.#operate(accountOperations['user.set'].run(this.#context, { email, frozen }));
  }

  #mayChange(userId: UserId): boolean {
    const { store, health } = this.gateway;
    return store.get('users', userId)?.moving === undefined && !health.refuses();
  }

  #submit(userId: UserId, pick: number): void {
    const { store, core } = this.gateway;
    const user = store.get('users', userId);
    const keyId = oneOf(users[userId], pick);
    const isStopped = core.brakes.stopOf(userId, keyId) !== undefined;
    if (user === undefined || user.frozen || isStopped || !this.#mayChange(userId)) return;
    const name = `s${++this.#names}`;
    const command = pick % 5 === 0 ? { type: 'position', cmd: 'close' } : {};
    const ttlMs = oneOf(ttls, pick >> 1);
    const wish = { signalId: name, idempotencyKey: name, keyId, ttlMs, ...command };
    this.gateway.accept(wish, () => undefined, user);
  }

  #connect(userId: UserId): void {
    const terminal = this.#terminals[userId];
    if (this.gateway.store.get('users', userId)?.moving !== undefined) return;
    terminal.read();
    terminal.plugin = this.gateway.connect({ userId, expiresAt: Number.MAX_SAFE_INTEGER });
    terminal.plugin.hello();
  }

  #report(userId: UserId, pick: number): void {
    const terminal = this.#terminals[userId];
    const frame = about(terminal.orders, pick, (executionId) => {
      const seq = ++terminal.seq;
      const fill = { fillId: `f${seq}`, price: 1, quantity: 3, filledAt: '2026-01-15T12:00:00Z' };
      const status = oneOf(reportableStatuses, pick >> 3);
      return { type: 'report', seq, executionId, status, ...(pick % 2 === 0 ? { fill } : {}) };
    });
    terminal.say(frame);
  }

  #cancel(userId: UserId, pick: number): void {
    const { core, book, registry } = this.gateway;
    const executionId = [...this.#terminals[userId].orders][pick % 16] ?? '';
    const entry = book.find(userId, executionId);
    if (entry === undefined || !this.#mayChange(userId)) return;
    const { execution } = entry;
    const { cancel } = execution;
    const isFree = cancel === null || isFinalCancel(cancel.status);
    const isOrder = execution.orderRef !== null && isCancellable(execution);
    if (!isFree || !isOrder || !registry.canCancel(userId, execution)) return;
    core.cancels.accept(entry, `c${++this.#names}`, 'cancel', () => undefined);
  }

  async #pass(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= 500) {
      await this.gateway.pass(500);
      for (const userId of userIds) this.#terminals[userId].say({ type: 'heartbeat' });
    }
  }

  async #kill(fate: 'lost' | 'kept'): Promise<void> {
    for (const userId of userIds) this.#terminals[userId].drop();
    this.#ending.clear();
    await this.#disk.die(fate);
    this.gateway = this.gateway.restart();
    await turns();
  }

  async recover(): Promise<void> {
    this.#disk.recover();
    await this.#pass(6_000);
  }

  /** Memory holds what the disk holds. */
  checkMemory(): void {
    const { book, store } = this.gateway;
    for (const { userId, executionId, execution, pendingWrites } of book.walk()) {
      assert.equal(pendingWrites, 0, `${executionId} is not on disk`);
      const record = recordOf(store, userId, executionId);
      assert(record !== undefined, `${executionId} is gone`);
      assert.deepEqual(plain(execution), plain(fromRecord(store, userId, record)));
    }
    const known = new Set([...book.walk()].map(({ executionId }) => executionId));
    for (const { record } of store.range('openExecutions')) {
      assert(known.has(record.executionId), `${record.executionId} is open, and not in the book`);
      assert(!isSettled(record), `${record.executionId} is settled, and open`);
    }
    assert.deepEqual(store.range('cancelAlls'), []);
    for (const userId of userIds) {
      for (const executionId of this.#terminals[userId].orders) {
        const record = recordOf(store, userId, executionId);
        assert.notEqual(record?.delivery, 'not_sent', `${executionId} was sent`);
      }
    }
  }

  /** A fresh start computes what this life has come to. */
  async checkRestart(): Promise<void> {
    const before = this.#state();
    for (const userId of userIds) this.#terminals[userId].drop();
    await turns();
    this.gateway = this.gateway.restart();
    assert.deepEqual(this.#state(), before);
  }

  #state() {
    const { book, registry, core, clock } = this.gateway;
    const now = clock.now();
    const keyIds = userIds.flatMap((userId) => users[userId]);
    return {
      executions: [...book.walk()]
        .map(({ execution }) => plain(recover(execution, now) ?? execution))
        .sort((a, b) => (a.executionId < b.executionId ? -1 : 1)),
      openOrders: keyIds.map((keyId) => book.openOrders.of(keyId)),
      switches: userIds.flatMap((userId) =>
        users[userId].map((keyId) => core.cancelAfter.read(userId, keyId)),
      ),
      terminals: [...registry.all()]
        .map(({ userId, numbers, durableSeq, capabilities }) => ({
          ...{ userId, seq: numbers.handled, durableSeq, capabilities },
        }))
        .sort((a, b) => (a.userId < b.userId ? -1 : 1)),
      quota: userIds.map((userId) => {
        core.quota.take(userId, unlimited, now);
        const counted = core.quota.count(userId, 'next');
        core.quota.decide(userId, 'next', false);
        return counted;
      }),
    };
  }
}

/** @returns the frame about one of the ids; undefined when there is none. */
function about(
  ids: ReadonlySet<string>,
  pick: number,
  frameOf: (id: string) => object,
): object | undefined {
  const id = [...ids][pick % Math.max(1, ids.size)];
  return id === undefined ? undefined : frameOf(id);
}

t.test('memory holds what a fresh start reads from the disk', () =>
  playStories(acts, { minLength: 10, maxLength: 100 }, 60, async (taken) => {
    const life = new Life();
    await life.begin();
    for (const { act, pick } of taken) await life.take(act, pick);
    for (let i = 0; i < 2; i++) {
      await life.recover();
      life.checkMemory();
      await life.checkRestart();
    }
  }),
);
