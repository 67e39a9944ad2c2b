/**
 * Random lives of orders with hundreds of fills, whose frames are handled in steps, beside cancels, stops, restarts
 * and connections that end between two steps, on a disk that hangs, fails and refuses. Each fill counts once; what is
 * in memory is what the store has; and what a user holds is what a count from scratch finds.
 */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import t from 'tap';
import { halt, resumeTrading } from '../../src/auth/brakes.js';
import { rounded } from '../../src/lib/decimal.js';
import type { Steps } from '../../src/lib/turn.js';
import { isFinalCancel } from '../../src/model/cancellation.js';
import { isCancellable, isFinal, type Execution } from '../../src/model/execution.js';
import { heldBy, listedFills, toRecord } from '../../src/signals/stored-execution.js';
import { StoreFailure } from '../../src/store/store.js';
import { actsOf, diskWeights, FailingDisk, oneOf, plain } from '../support/random-acts.js';
import { readExecution } from '../support/read-execution.js';
import { helloFrame, type ScriptedPlugin } from '../support/scripted-plugin.js';
import { SimulatedGateway, turns } from '../support/simulated-gateway.js';

const weights = {
  submit: 4,
  fill: 8,
  'many fills': 8,
  'the latest fill again': 4,
  'a status': 6,
  unknown: 4,
  'an event': 2,
  acknowledge: 4,
  'answer the cancels': 4,
  'cancel one': 5,
  'cancel all': 2,
  connect: 4,
  'the peer closes': 2,
  'the gateway closes': 2,
  'a step': 12,
  halt: 1,
  resume: 1,
  turn: 6,
  turns: 6,
  ...diskWeights,
  release: 8,
  'writes are taken': 4,
  'half a second passes': 4,
  'half a minute passes': 2,
  'kill in a commit that is lost': 2,
  'kill in a commit that is kept': 2,
};

type Act = keyof typeof weights;

const acts = actsOf(weights, 10_000);
const keyIds = [1, 2] as const;
const statuses = ['working', 'partially_filled', 'partially_filled', 'cancelled', 'expired'];
/** Room for all, for a few hundred fills, and for less than one order's. */
const rooms = [200_000, 400, 30];
const filledAt = '2026-01-15T12:00:00Z';
const payload = '{"instrument":"ES","side":"buy","quantity":1000000}';

interface Numbered {
  readonly seq: number;
  readonly [field: string]: unknown;
}

interface Order {
  readonly quantities: number[];
}

class Story {
  gateway: SimulatedGateway;
  readonly #disk = new FailingDisk(() => this.gateway.memory);
  readonly #orders = new Map<string, Order>();
  #plugin: ScriptedPlugin | undefined;
  /** The frames that the terminal repeats until they are acknowledged. */
  #journal: Numbered[] = [];
  /** What the intake holds of the connection: the rest of a frame, and the frames behind it. */
  #unfinished: Steps | undefined;
  #waiting: object[] = [];
  #cancels: string[] = [];
  #seq = 0;
  #signals = 0;
  #isHalting = false;
  /** How many fills of each order the announced changes have told of. */
  readonly #told = new Map<string, number>();

  constructor(openExecutionsPerUser: number) {
    this.gateway = new SimulatedGateway({ limits: { openExecutionsPerUser } });
  }

  readonly #act: Readonly<Record<Act, (pick: number) => unknown>> = {
    submit: (pick) => {
      const name = `s${++this.#signals}`;
      const keyId = oneOf(keyIds, pick);
      this.gateway.accept(
        { signalId: name, idempotencyKey: name, keyId, payload },
        () => undefined,
      );
    },
    fill: (pick) => this.#fill(pick, 1),
    'many fills': (pick) => this.#fill(pick, 20 + (pick % 80)),
    'the latest fill again': (pick) => {
      const executionId = this.#pickOrder(pick);
      if (executionId === undefined) return;
      const { length } = this.#orderOf(executionId).quantities;
      if (length > 0) this.#tellFill(executionId, length - 1);
    },
    'a status': (pick) => this.#status(pick, oneOf(statuses, pick)),
    unknown: (pick) => this.#status(pick, 'unknown'),
    'an event': (pick) => {
      const executionId = this.#pickOrder(pick);
      if (executionId !== undefined)
        this.#tell({ type: 'event', event: 'order_update', executionId });
    },
    acknowledge: (pick) => {
      const executionId = this.#pickOrder(pick);
      if (executionId !== undefined) this.#say({ type: 'ack', executionId });
    },
    'answer the cancels': (pick) => {
      for (const cancelRequestId of this.#cancels.splice(0)) {
        this.#say({ type: 'ack', cancelRequestId });
        const status = oneOf(['cancelled', 'rejected', 'too_late'], pick);
        this.#tell({ type: 'cancel_report', cancelRequestId, status });
      }
    },
    'cancel one': (pick) => this.#cancelOne(pick),
    'cancel all': () => {
      if (!this.gateway.health.refuses()) this.gateway.cancelAllNow();
    },
    connect: (pick) => this.#connect(pick),
    'the peer closes': () => {
      // The intake handles what came before the close.
      this.#finish();
      this.#close(() => this.#plugin?.drop());
    },
    'the gateway closes': () =>
      this.#close(() => this.#plugin?.connection.close('session_revoked')),
    'a step': () => this.#step(),
    halt: () => void this.#stop(true),
    resume: () => void this.#stop(false),
    turn: () => turns(1),
    turns: () => turns(),
    ...this.#disk.acts,
    'half a second passes': () => this.gateway.pass(500),
    'half a minute passes': () => this.gateway.pass(30_000, 500),
    'kill in a commit that is lost': () => this.#kill('lost'),
    'kill in a commit that is kept': () => this.#kill('kept'),
  };

  async take(act: Act, pick = 0): Promise<void> {
    await this.#act[act](pick);
    this.#read();
    this.#look();
  }

  get #isOpen(): boolean {
    return this.#plugin !== undefined && this.#plugin.closed === undefined;
  }

  #orderOf(executionId: string): Order {
    let order = this.#orders.get(executionId);
    if (order === undefined) this.#orders.set(executionId, (order = { quantities: [] }));
    return order;
  }

  #pickOrder(pick: number): string | undefined {
    return [...this.#orders.keys()][pick % Math.max(1, this.#orders.size)];
  }

  #fill(pick: number, count: number): void {
    const executionId = this.#pickOrder(pick);
    if (executionId === undefined) return;
    const { quantities } = this.#orderOf(executionId);
    for (let i = 0; i < count; i++) {
      const n = quantities.push(oneOf([0.1, 0.3, 1, 7e-5], pick + i)) - 1;
      this.#tellFill(executionId, n);
    }
  }

  #tellFill(executionId: string, n: number): void {
    this.#tell({ type: 'report', ...evidenceOf(executionId, this.#orderOf(executionId), n) });
  }

  #status(pick: number, status: string): void {
    const executionId = this.#pickOrder(pick);
    if (executionId !== undefined) this.#tell({ type: 'report', executionId, status });
  }

  #tell(frame: object): void {
    const numbered = { ...frame, seq: ++this.#seq };
    this.#journal.push(numbered);
    this.#say(numbered);
  }

  #say(frame: object): void {
    if (!this.#isOpen) return;
    this.#waiting.push(frame);
    this.#pump();
  }

  #pump(): void {
    while (this.#unfinished === undefined && this.#isOpen) {
      const frame = this.#waiting.shift();
      if (frame === undefined) return;
      this.#unfinished = this.#plugin?.stepsOf(JSON.stringify(frame));
    }
  }

  #step(): void {
    if (this.#unfinished?.next().done === false) return;
    this.#unfinished = undefined;
    this.#pump();
  }

  #finish(): void {
    while (this.#isOpen && this.#unfinished !== undefined) this.#step();
  }

  #close(close: () => void): void {
    this.#read();
    if (this.#isOpen) close();
    this.#plugin = undefined;
    this.#unfinished = undefined;
    this.#waiting = [];
  }

  #connect(pick: number): void {
    // A later connection's frames wait behind those of the earlier one.
    this.#finish();
    this.#read();
    this.#plugin = this.gateway.connect({ expiresAt: Number.MAX_SAFE_INTEGER });
    this.#waiting = [];
    const known = [...this.#orders].filter((_, index) => (pick >> index) % 2 === 1);
    const executions = known.slice(0, 4).flatMap(([executionId, order]) => {
      const n = order.quantities.length - 1;
      // What a report will repeat does not belong into a hello.
      const isRepeated = this.#journal.some((frame) => frame['executionId'] === executionId);
      if (n < 0 || isRepeated) return [];
      const evidence = evidenceOf(executionId, order, n);
      // A list may name an order twice.
      return pick % 3 === 0 ? [evidence, evidence] : [evidence];
    });
    this.#say({ ...helloFrame, executions });
    this.#read();
    for (const frame of this.#journal) this.#say(frame);
  }

  #read(): void {
    for (const frame of this.#plugin?.frames.splice(0) ?? []) {
      const { type } = frame;
      if (type === 'submit') {
        const executionId = String(frame['executionId']);
        this.#orderOf(executionId);
      }
      if (type === 'cancel') this.#cancels.push(String(frame['cancelRequestId']));
      const upTo = Number(
        type === 'ack' ? frame['seq'] : type === 'welcome' ? frame['lastSeq'] : 0,
      );
      this.#journal = this.#journal.filter(({ seq }) => seq > upTo);
    }
  }

  #cancelOne(pick: number): void {
    const executionId = this.#pickOrder(pick);
    const entry = executionId === undefined ? undefined : this.gateway.book.find('u1', executionId);
    if (entry === undefined || !this.#isOpen || this.gateway.health.refuses()) return;
    const { record } = entry;
    const isFree = record.cancel === null || isFinalCancel(record.cancel.status);
    if (!isFree || !isCancellable(record)) return;
    this.gateway.core.cancels.accept(entry, `c${++this.#signals}`, 'cancel', () => undefined);
  }

  async #stop(isHalt: boolean): Promise<void> {
    if (this.#isHalting) return;
    this.#isHalting = true;
    const { store, core } = this.gateway;
    try {
      await store.transact((batch) => (isHalt ? halt(batch, null, 1) : resumeTrading(batch)));
      await core.endUnsent();
    } catch (error) {
      assert(error instanceof StoreFailure);
    }
    this.#isHalting = false;
  }

  async #kill(fate: 'lost' | 'kept'): Promise<void> {
    this.#close(() => this.#plugin?.drop());
    await this.#disk.die(fate);
    this.gateway = this.gateway.restart();
    this.#told.clear();
    this.#isHalting = false;
    await turns();
  }

  #look(): void {
    const { book, limits, writer, store, changes } = this.gateway;
    for (const [, before, after] of changes.splice(0)) {
      // Nothing is announced: a cancel that waits is looked at.
      if (before === after) continue;
      const { executionId, unlistedFills } = after;
      const count = listedFills(after) + (unlistedFills?.count ?? 0);
      assert(count >= (this.#told.get(executionId) ?? 0), `${executionId}: a change lacks fills`);
      this.#told.set(executionId, count);
    }
    const entries = [...book.walk('u1')];
    assert.equal(book.size, entries.length);
    const loaded = entries.filter((entry) => entry.isLoaded);
    const held = loaded.reduce((sum, { record }) => sum + heldBy(record), entries.length);
    assert.equal(book.roomOf('u1'), Math.max(0, limits.openExecutionsPerUser - held), 'room');
    if (writer.isBusy || writer.isHeld || writer.backlog > 0) return;
    const least = loaded.reduce(
      (sum, { record }) => sum + heldBy(toRecord(record)),
      entries.length,
    );
    assert(held <= Math.max(least, limits.openExecutionsPerUser) + least, `${held} held`);
    for (const { record, pendingWrites, executionId } of loaded) {
      assert.equal(pendingWrites, 0, `${executionId} waits for no write`);
      const stored =
        store.get('openExecutions', ['u1', executionId]) ?? this.gateway.durable(executionId);
      assert.deepEqual(plain(toRecord(record)), plain(stored), 'memory is what the store has');
      if (record.fillRows !== undefined) continue;
      assert.deepEqual(plain(record.fills), readExecution(store, 'u1', executionId)?.fills);
    }
  }

  /** Once the disk is well and every report is acknowledged, each fill counts once. */
  async end(): Promise<void> {
    this.#disk.recover();
    await this.gateway.pass(4_000, 500);
    await this.take('connect');
    this.#finish();
    await this.gateway.pass(4_000, 500);
    await this.take('turns');
    assert.deepEqual(this.#plugin?.errors, []);
    assert.deepEqual(this.#journal, [], 'every report is acknowledged');
    const { book, core } = this.gateway;
    const { reportsWaiting } = core.terminals.budgets.of('u1');
    assert.equal(reportsWaiting, 0, 'no report waits for the disk');
    for (const keyId of keyIds) {
      const open = [...book.walk('u1')].filter(
        ({ record }) => record.keyId === keyId && isOpenOf(record),
      );
      assert.equal(book.openOrders.of(keyId), open.length, 'open orders of a key');
    }
    for (const [executionId, { quantities }] of this.#orders) {
      const stored = readExecution(this.gateway.store, 'u1', executionId);
      // The order's acceptance may have been in a commit that was lost.
      if (stored === undefined || quantities.length === 0) continue;
      const { fills, unlistedFills, filledQuantity } = stored;
      const ids = fills.map(({ fillId }) => fillId);
      assert.equal(new Set(ids).size, ids.length, 'a fill is listed once');
      // Of those that are not listed, one may count twice, which the total corrects.
      if (unlistedFills === undefined) assert.equal(ids.length, quantities.length, executionId);
      assert.equal(filledQuantity, sumOf(quantities));
      assert.equal(rounded(stored.averageFillPrice ?? 0), 100);
    }
  }
}

/** With the total that the protocol asks a terminal to send with each fill. */
function evidenceOf(executionId: string, { quantities }: Order, n: number) {
  const fill = { fillId: `f${n}`, price: 100, quantity: quantities[n], filledAt };
  const filledQuantity = sumOf(quantities.slice(0, n + 1));
  return { executionId, status: 'partially_filled', filledQuantity, fill };
}

function sumOf(quantities: readonly number[]): number {
  return quantities.reduce((total, quantity) => total + Math.round(quantity * 1e5), 0) / 1e5;
}

function isOpenOf({ orderRef, status }: Execution): boolean {
  return orderRef !== null && !isFinal(status);
}

t.test('each fill counts once, and memory is what the store has', async (t) => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...rooms),
      fc.array(acts, { minLength: 30, maxLength: 120, size: 'max' }),
      async (room, all) => {
        const story = new Story(room);
        for (const act of ['connect', 'turns', 'submit', 'submit', 'turns'] as const)
          await story.take(act);
        for (const { act, pick } of all) await story.take(act, pick);
        await story.end();
      },
    ),
    { numRuns: 60 },
  );
  t.pass();
});
