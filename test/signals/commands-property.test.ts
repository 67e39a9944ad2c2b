/**
 * Random cancels, switches and reports on a disk that hangs, fails, refuses and recovers, across kills. A
 * command that is answered is durable and takes effect once; one that is refused has no effect; an unknown
 * outcome becomes known, the same to every retry. Nothing stays counted once the disk is well.
 */
import assert from 'node:assert/strict';
import t from 'tap';
import { isFinalCancel } from '../../src/model/cancellation.js';
import { isCancellable, isFinal } from '../../src/model/execution.js';
import type { CancelAfterView } from '../../src/signals/cancel-after.js';
import type { CancelledOrders } from '../../src/signals/cancelled-orders.js';
import type { OrderFilter } from '../../src/signals/order-filter.js';
import { heldBy } from '../../src/signals/stored-execution.js';
import type { ScriptedPlugin } from '../support/scripted-plugin.js';
import { actsOf, diskWeights, FailingDisk, oneOf, playStories } from '../support/random-acts.js';
import { SimulatedGateway, turns } from '../support/simulated-gateway.js';

const limits = { staleProcessingMs: 5_000 };
const keyIds = [1, 2] as const;
const names = ['k1', 'k2', 'k3'] as const;
const filters: readonly OrderFilter[] = [{}, { platform: 'terminal_a' }, { instrument: 'NQ' }];
const switchMs = 5_000;

const weights = {
  submit: 8,
  'cancel one': 12,
  'cancel all': 4,
  arm: 3,
  disarm: 2,
  work: 6,
  fill: 5,
  end: 2,
  'answer the cancels': 4,
  connect: 4,
  drop: 2,
  turn: 8,
  turns: 6,
  ...diskWeights,
  'the commit fails': 4,
  'half a second passes': 3,
  'three seconds pass': 2,
  'five seconds pass': 2,
  'kill in a commit that is lost': 1,
  'kill in a commit that is kept': 1,
};

type Act = keyof typeof weights;

const acts = actsOf(weights, 1_000);

interface NumberedFrame {
  readonly seq: number;
  readonly [field: string]: unknown;
}

/** A terminal with a journal, from which it repeats its reports until they are acknowledged. */
class Terminal {
  plugin: ScriptedPlugin | undefined;
  /** executionId → the ids of its fills, and how it ended. */
  readonly orders = new Map<string, { readonly fills: string[]; end?: 'filled' | 'cancelled' }>();
  #journal: NumberedFrame[] = [];
  #seq = 0;
  #fills = 0;
  #cancels: { readonly cancelRequestId: string; readonly executionId: string }[] = [];

  get isOpen(): boolean {
    return this.plugin !== undefined && this.plugin.closed === undefined;
  }

  get unacknowledged(): readonly NumberedFrame[] {
    return this.#journal;
  }

  connect(gateway: SimulatedGateway): void {
    this.read();
    this.plugin = gateway.connect({ expiresAt: Number.MAX_SAFE_INTEGER });
    this.plugin.hello();
    this.read();
    for (const frame of this.#journal) this.plugin.say(frame);
  }

  drop(): void {
    this.read();
    if (this.isOpen) this.plugin?.drop();
    this.plugin = undefined;
  }

  read(): void {
    for (const frame of this.plugin?.frames.splice(0) ?? []) {
      if (frame.type === 'submit') this.#take(String(frame['executionId']));
      if (frame.type === 'cancel') this.#cancels.push(frame as never);
      if (frame.type === 'ack') this.#forget(Number(frame['seq']));
      if (frame.type === 'welcome') this.#forget(Number(frame['lastSeq']));
    }
  }

  #take(executionId: string): void {
    if (!this.orders.has(executionId)) this.orders.set(executionId, { fills: [] });
    if (this.isOpen) this.plugin?.say({ type: 'ack', executionId });
  }

  #forget(seq: number): void {
    this.#journal = this.#journal.filter((frame) => frame.seq > seq);
  }

  #say(frame: object): void {
    const numbered = { ...frame, seq: ++this.#seq };
    this.#journal.push(numbered);
    if (this.isOpen) this.plugin?.say(numbered);
  }

  #open(pick: number): string | undefined {
    this.read();
    const open = [...this.orders].filter(([, { end }]) => end === undefined);
    return open[pick % open.length]?.[0];
  }

  report(status: 'working' | 'partially_filled' | 'filled' | 'cancelled', pick: number): boolean {
    const executionId = this.#open(pick);
    const order = executionId === undefined ? undefined : this.orders.get(executionId);
    if (order === undefined) return false;
    if (status === 'filled' || status === 'cancelled') order.end = status;
    if (status !== 'partially_filled') {
      this.#say({ type: 'report', executionId, status });
      return true;
    }
    const fillId = `f${++this.#fills}`;
    order.fills.push(fillId);
    const fill = { fillId, price: 1, quantity: 0.001, filledAt: '2026-01-15T12:00:00Z' };
    this.#say({ type: 'report', executionId, status, fill });
    return true;
  }

  answerCancels(): void {
    this.read();
    for (const { cancelRequestId, executionId } of this.#cancels.splice(0)) {
      const order = this.orders.get(executionId);
      // A restarted gateway counts an order as sent that may not have reached the terminal.
      if (order === undefined) {
        const reasonCode = 'order_unknown_at_terminal';
        this.#say({ type: 'cancel_report', cancelRequestId, status: 'rejected', reasonCode });
        continue;
      }
      const status = order.end === 'filled' ? 'too_late' : 'cancelled';
      order.end ??= 'cancelled';
      this.#say({ type: 'cancel_report', cancelRequestId, status });
    }
  }
}

interface Command {
  readonly fingerprint: string;
  readonly told: Set<string>;
  /** Number of the gateway's life in which an answer called the outcome unknown. */
  unknownIn?: number;
}

interface Setting {
  readonly at: number;
  readonly firesAt: number | null;
  isTold: boolean;
}

class Story {
  gateway = new SimulatedGateway({ limits });
  readonly #disk = new FailingDisk(() => this.gateway.memory);
  readonly terminal = new Terminal();
  /** Idempotency-Key → its command, with the fingerprint of the newest use that found the key free. */
  readonly commands = new Map<string, Command>();
  readonly accepted = new Set<string>();
  readonly settings = new Map<number, Setting[]>(keyIds.map((keyId) => [keyId, []]));
  readonly #faults: unknown[] = [];
  #life = 0;
  #signals = 0;

  readonly act: Readonly<Record<Act, (pick: number) => unknown>> = {
    submit: (pick) => this.#submit(pick),
    'cancel one': (pick) => this.#cancelOne(pick),
    'cancel all': (pick) => this.#cancelAll(pick),
    arm: (pick) => this.#set(oneOf(keyIds, pick), switchMs),
    disarm: (pick) => this.#set(oneOf(keyIds, pick), 0),
    work: (pick) => this.terminal.report('working', pick),
    fill: (pick) => this.terminal.report('partially_filled', pick),
    end: (pick) => this.terminal.report(pick % 2 === 0 ? 'filled' : 'cancelled', pick),
    'answer the cancels': () => this.terminal.answerCancels(),
    connect: () => this.terminal.connect(this.gateway),
    drop: () => this.terminal.drop(),
    turn: () => turns(1),
    turns: () => turns(),
    ...this.#disk.acts,
    'half a second passes': () => this.gateway.clock.advance(500),
    'three seconds pass': () => this.#pass(3_000),
    'five seconds pass': () => this.#pass(5_000),
    'kill in a commit that is lost': () => this.#kill('lost'),
    'kill in a commit that is kept': () => this.#kill('kept'),
  };

  async begin(): Promise<void> {
    this.terminal.connect(this.gateway);
    await turns();
  }

  async take(act: Act, pick: number): Promise<void> {
    await this.act[act](pick);
    this.terminal.read();
    this.#tell();
    this.#checkRoom();
  }

  /** The room of a user is what a count from scratch leaves. */
  #checkRoom(): void {
    const { book, limits } = this.gateway;
    let held = 0;
    for (const entry of book.walk('u1')) held += 1 + (entry.isLoaded ? heldBy(entry.record) : 0);
    assert.equal(book.roomOf('u1'), limits.openExecutionsPerUser - held, 'room of the user');
  }

  /** Judges in the moment of an answer, inside the gateway's call; `#tell` throws the error later. */
  #judge(judge: () => void): void {
    try {
      judge();
    } catch (error) {
      this.#faults.push(error);
    }
  }

  #tell(): void {
    if (this.#faults.length > 0) throw this.#faults[0];
  }

  async #pass(ms: number): Promise<void> {
    await this.gateway.pass(ms, 500);
    if (this.terminal.isOpen) this.terminal.plugin?.say({ type: 'heartbeat' });
  }

  async #kill(fate: 'lost' | 'kept'): Promise<void> {
    this.#life++;
    this.terminal.drop();
    await this.#disk.die(fate);
    this.gateway = this.gateway.restart();
    await turns();
  }

  #submit(pick: number): void {
    const name = `s${++this.#signals}`;
    const life = this.#life;
    const payload = JSON.stringify({
      instrument: pick % 3 === 0 ? 'NQ' : 'ES',
      side: 'buy',
      quantity: 10,
    });
    const wish = { signalId: name, idempotencyKey: name, keyId: oneOf(keyIds, pick), payload };
    this.gateway.accept({ ...wish, ttlMs: 300_000 }, (answer) => {
      if (life !== this.#life || typeof answer !== 'object') return;
      for (const { executionId } of answer.executions) this.accepted.add(executionId);
    });
  }

  /** @returns a function that takes the command's answer; undefined if the endpoint would not begin it. */
  #begin(key: string, fingerprint: string): ((body: string | undefined) => void) | undefined {
    const { gateway } = this;
    let command = this.commands.get(key);
    if (command === undefined) {
      command = { fingerprint, told: new Set() };
      this.commands.set(key, command);
    }
    const { told } = command;
    const now = gateway.clock.now();
    const known = gateway.idempotency.lookUp('u1', key, () => fingerprint, now);
    if (known.kind === 'replay') told.add(known.record.answer);
    if (known.kind !== 'free') return undefined;
    assert.equal(command.unknownIn === this.#life, false, `${key} is free, and was unknown`);
    assert.equal(told.size, 0, `${key} is free, and was answered`);
    if (gateway.health.refuses()) return undefined;
    Object.assign(command, { fingerprint });
    const life = this.#life;
    let isOver = false;
    const judge = (body: string | undefined): void => {
      if (body === undefined) {
        command.unknownIn = life;
        const { kind } = gateway.idempotency.lookUp('u1', key, () => fingerprint, now);
        assert.notEqual(kind, 'free', `${key} is unknown, and free`);
        return;
      }
      told.add(body);
      const stored = gateway.store.get('idempotency', ['u1', key])?.answer;
      assert.equal(stored, body, `${key} is answered before it is durable`);
    };
    return (body) => {
      if (life !== this.#life || isOver) return;
      isOver = true;
      this.#judge(() => judge(body));
    };
  }

  #cancelOne(pick: number): void {
    const { core, book } = this.gateway;
    if (this.accepted.size === 0) return;
    const executionId = oneOf([...this.accepted], pick);
    const entry = book.find('u1', executionId);
    if (entry === undefined) return;
    const { execution } = entry;
    const isFree = execution.cancel === null || isFinalCancel(execution.cancel.status);
    const key = `one ${oneOf(names, pick)}`;
    const fingerprint = `cancel ${executionId}`;
    if (!isCancellable(execution) || !isFree || !this.terminal.isOpen) return;
    const answer = this.#begin(key, fingerprint);
    if (answer !== undefined) core.cancels.accept(entry, key, fingerprint, answer);
  }

  #cancelAll(pick: number): void {
    const key = `all ${oneOf(names, pick)}`;
    const filter = oneOf(filters, pick);
    const fingerprint = JSON.stringify(filter);
    const answer = this.#begin(key, fingerprint);
    if (answer === undefined) return;
    this.gateway.core.cancelAllAcceptance.accept(
      { userId: 'u1', filter, idempotencyKey: key, fingerprint, trail: {} },
      answer,
    );
  }

  #set(keyId: number, timeoutMs: number): void {
    const { gateway } = this;
    if (gateway.health.refuses()) return;
    const at = gateway.clock.now();
    const firesAt = timeoutMs === 0 ? null : at + timeoutMs;
    const settings = this.settings.get(keyId) ?? [];
    const place = settings.push({ at, firesAt, isTold: false }) - 1;
    const life = this.#life;
    let isOver = false;
    gateway.core.cancelAfter.set('u1', keyId, timeoutMs, (view) => {
      if (life !== this.#life || isOver) return;
      isOver = true;
      if (view !== undefined) this.#judge(() => this.#wasSet(keyId, settings.slice(place), view));
    });
  }

  #wasSet(keyId: number, since: readonly Setting[], view: CancelAfterView): void {
    const own = since[0] as Setting;
    own.isTold = true;
    assert.equal(view.firesAt === null ? null : Date.parse(view.firesAt), own.firesAt);
    const stored = this.gateway.store.get('cancelAfters', ['u1', String(keyId)]);
    assert(stored !== undefined);
    const hasFired = stored.firesAt === null && (stored.lastFiredAt ?? 0) >= own.at;
    const isKnown = since.some(({ firesAt }) => firesAt === stored.firesAt);
    assert(hasFired || isKnown, `the switch of ${keyId} is answered before it is durable`);
  }

  async recover(): Promise<void> {
    this.#disk.recover();
    await this.gateway.pass(3_000, 500);
    this.terminal.drop();
    this.terminal.connect(this.gateway);
    await turns();
    for (let i = 0; i < 4; i++) await this.#pass(3_000);
    this.terminal.read();
  }

  check(): void {
    this.#tell();
    this.#checkKeys();
    this.#checkOrders();
    this.#checkSwitches();
  }

  #checkKeys(): void {
    const { gateway } = this;
    const now = gateway.clock.now();
    for (const [key, { fingerprint, told, unknownIn }] of this.commands) {
      const known = gateway.idempotency.lookUp('u1', key, () => fingerprint, now);
      assert(known.kind === 'replay' || known.kind === 'free', `${key}: ${known.kind}`);
      if (unknownIn === this.#life) assert.equal(known.kind, 'replay', `${key} is given up`);
      const answers = known.kind === 'replay' ? [known.record.answer] : [];
      for (const body of told) assert(answers.includes(body), `${key} has another answer`);
    }
    const bound = gateway.store.range('idempotency').filter(({ key }) => / /.test(key[1]));
    assert.deepEqual(
      gateway.store
        .range('cancelKeys')
        .map(({ record }) => record)
        .sort(),
      bound.map(({ key }) => key[1]).sort(),
    );
    const ids = bound.map(({ record }) => {
      const body = JSON.parse(record.answer) as Partial<
        CancelledOrders & { cancelRequestId: string }
      >;
      for (const { executionId, outcome } of body.orders ?? []) {
        const { status, cancel } = gateway.durable(executionId) ?? {};
        if (outcome === 'denied') assert.equal(status, 'denied', executionId);
        else assert(cancel !== null && cancel !== undefined, `${executionId} has no cancel`);
      }
      return body.cancelRequestId ?? body.cancelAllId;
    });
    assert.equal(new Set(ids).size, ids.length, 'one effect for two keys');
  }

  #checkOrders(): void {
    const { gateway, terminal } = this;
    assert.deepEqual(terminal.unacknowledged, [], 'reports that are never acknowledged');
    for (const executionId of this.accepted) {
      assert(gateway.durable(executionId) !== undefined, `${executionId} is lost`);
    }
    for (const [executionId, { fills, end }] of terminal.orders) {
      const known = gateway.durable(executionId);
      assert.deepEqual(
        known?.fills.map(({ fillId }) => fillId),
        fills,
        `fills of ${executionId}`,
      );
      if (end === 'filled') assert.equal(known.status, 'filled', executionId);
      if (end === 'cancelled') assert.equal(known.status, 'cancelled', executionId);
      assert.notEqual(known.status, 'denied', executionId);
    }
    for (const keyId of keyIds) {
      const open = [...gateway.book.walk('u1')].filter(
        ({ execution: { status, keyId: by } }) => !isFinal(status) && by === keyId,
      );
      assert.equal(gateway.book.openOrders.of(keyId), open.length, `open orders of ${keyId}`);
    }
  }

  #checkSwitches(): void {
    const { store } = this.gateway;
    for (const [keyId, settings] of this.settings) {
      const stored = store.get('cancelAfters', ['u1', String(keyId)]);
      assert.equal(stored?.firesAt ?? null, null, `the switch of ${keyId} never fires`);
      if (settings.every(({ firesAt }) => firesAt === null)) {
        assert.equal(stored?.lastFiredAt ?? null, null, `the switch of ${keyId} was never armed`);
      }
      for (const { record } of store.range('openExecutions')) {
        const { cancel, createdAt, executionId } = record;
        const isMeant = record.keyId === keyId && createdAt < lastFired(settings);
        assert(!isMeant || cancel !== null, `${executionId} outlives its switch`);
      }
    }
  }

  /** Brings every order to its end, and checks that nothing is left of it in memory. */
  async finish(): Promise<void> {
    const { gateway, terminal } = this;
    while (terminal.report('filled', 0));
    terminal.answerCancels();
    for (let i = 0; i < 24; i++) {
      await gateway.pass(15_000);
      terminal.plugin?.say({ type: 'heartbeat' });
      terminal.answerCancels();
    }
    assert.equal(gateway.book.size, 0, 'what is over stays in memory');
    assert.deepEqual(
      keyIds.map((keyId) => gateway.book.openOrders.of(keyId)),
      [0, 0],
    );
    terminal.drop();
    await gateway.pass(gateway.limits.heartbeatWindowMs + 1_000);
    assert.equal(gateway.deadlines.size, 0, 'deadlines that are left behind');
  }
}

/** @returns when the last answered setting was due that no later one replaced before; 0 if there is none. */
function lastFired(settings: readonly Setting[]): number {
  const fired = settings.filter(({ firesAt, isTold }, i) => {
    const [next] = settings.slice(i + 1);
    return firesAt !== null && isTold && (next?.at ?? Infinity) >= firesAt;
  });
  return fired.at(-1)?.firesAt ?? 0;
}

t.test('a command is carried out once, whatever the disk does', () =>
  playStories(acts, { minLength: 10, maxLength: 80 }, 60, async (taken) => {
    const story = new Story();
    await story.begin();
    for (const { act, pick } of taken) await story.take(act, pick);
    await story.recover();
    story.check();
    await story.finish();
  }),
);
