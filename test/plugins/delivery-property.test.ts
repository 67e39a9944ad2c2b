/**
 * Random lives of two terminals of one user, each with connections that break, replace one another, read slowly,
 * say hello late or lack a capability, beside stops and cancels, on a disk that hangs, fails and refuses, across
 * kills. On each connection, a submit frame leaves once, in the order of acceptance, marked on disk, and never
 * behind a cancel of its order. The statuses of a source follow one another, and each question for a snapshot has
 * one answer. Once the disk is well, no order waits for a terminal that is there, and nothing is left of
 * connections that have ended.
 */
import assert from 'node:assert/strict';
import t from 'tap';
import { halt, resumeTrading } from '../../src/auth/brakes.js';
import { sourceKey } from '../../src/model/source-name.js';
import type { Capability } from '../../src/model/records.js';
import type { SourceStatus } from '../../src/plugins/presence.js';
import type { SnapshotAnswer } from '../../src/plugins/snapshots.js';
import { readExecution } from '../support/read-execution.js';
import { StoreFailure } from '../../src/store/store.js';
import { actsOf, diskWeights, FailingDisk, playStories } from '../support/random-acts.js';
import type { Frame } from '../support/plugin.js';
import type { ScriptedPlugin } from '../support/scripted-plugin.js';
import { SimulatedGateway, turns, user } from '../support/simulated-gateway.js';

const limits = { heartbeatWindowMs: 20_000 };
const ttls = [2_000, 40_000, 300_000];
const payload = '{"instrument":"ES","side":"buy","quantity":1000000}';
const hellos: readonly (readonly Capability[])[] = [
  ['submit', 'cancel', 'snapshot'],
  ['submit', 'cancel', 'snapshot'],
  ['submit'],
  ['cancel'],
];
const mayFollow: Readonly<Record<SourceStatus, readonly (SourceStatus | undefined)[]>> = {
  online: [undefined, 'stale', 'offline', 'replaced'],
  replaced: ['online'],
  stale: ['online'],
  offline: ['stale', undefined],
};

const weights = {
  submit: 14,
  connect: 5,
  'connect without a hello': 1,
  'say the late hello': 2,
  drop: 3,
  congest: 3,
  drain: 4,
  'read nothing': 1,
  acknowledge: 6,
  report: 6,
  'cancel all': 2,
  halt: 1,
  resume: 2,
  'ask for a snapshot': 3,
  'answer the snapshot': 3,
  turn: 8,
  turns: 6,
  ...diskWeights,
  release: 14,
  'writes are taken': 8,
  'half a second passes': 6,
  'half a minute passes': 1,
  'the loop stalls': 1,
  'kill in a commit that is lost': 1,
  'kill in a commit that is kept': 1,
};

type Act = keyof typeof weights;

const acts = actsOf(weights, 10_000);

/** One connection, as its plugin sees it. */
class Line {
  capabilities: readonly Capability[] = [];
  readonly sent: string[] = [];
  #read = 0;

  constructor(readonly plugin: ScriptedPlugin) {}

  get isOpen(): boolean {
    return this.plugin.closed === undefined;
  }

  say(frame: object): void {
    if (this.isOpen && this.capabilities.length > 0) this.plugin.say(frame);
  }

  drop(): void {
    if (this.isOpen) this.plugin.drop();
  }

  read(): Frame[] {
    const frames = this.plugin.frames.slice(this.#read);
    this.#read += frames.length;
    return frames;
  }
}

class Terminal {
  readonly key: string;
  lines: Line[] = [];
  readonly orders: string[] = [];
  snapshotId = '';
  seq = 0;

  constructor(readonly instanceId: string) {
    this.key = sourceKey({ platform: 'terminal_a', instanceId, accountName: 'Sim101' });
  }

  get newest(): Line | undefined {
    return this.lines.at(-1);
  }
}

class Life {
  gateway = new SimulatedGateway({ limits });
  readonly #disk = new FailingDisk(() => this.gateway.memory);
  readonly #terminals = [new Terminal('desk-1'), new Terminal('desk-2')] as const;
  readonly #cancelled = new Set<string>();
  readonly #statuses = new Map<string, SourceStatus>();
  #questions: SnapshotAnswer[][] = [];

  readonly #act: Readonly<Record<Act, (terminal: Terminal, pick: number) => unknown>> = {
    submit: ({ instanceId }, pick) => {
      const { brakes } = this.gateway.core;
      if (this.gateway.health.refuses() || brakes.stopOf('u1', 1) !== undefined) return;
      const target = pick % 2 === 0 ? {} : { instanceId, accountName: 'Sim101' };
      const ttlMs = ttls[pick % ttls.length] as number;
      this.gateway.accept({ payload, ttlMs, ...target }, () => undefined);
    },
    connect: (terminal, pick) => {
      if (pick % 2 === 0) terminal.newest?.drop();
      this.#connect(terminal);
      this.#greet(terminal, pick >> 1);
    },
    'connect without a hello': (terminal) => {
      if (terminal.newest?.isOpen !== true) this.#connect(terminal);
    },
    'say the late hello': (terminal, pick) => this.#greet(terminal, pick),
    drop: ({ lines }, pick) => lines[pick % Math.max(1, lines.length)]?.drop(),
    congest: ({ newest }, pick) => {
      if (newest?.isOpen === true) newest.plugin.room = pick % 4;
    },
    drain: ({ newest }, pick) => {
      if (newest?.isOpen === true) newest.plugin.drain(pick % 3 === 0 ? 2 : Infinity);
    },
    'read nothing': ({ newest }) => {
      if (newest !== undefined) newest.plugin.isFull = true;
    },
    acknowledge: ({ newest, orders }, pick) => {
      const executionId = orders.at(-1 - (pick % 6));
      if (executionId !== undefined) newest?.say({ type: 'ack', executionId });
    },
    report: (terminal, pick) => {
      const executionId = terminal.orders.at(-1 - (pick % 6));
      if (executionId === undefined) return;
      terminal.newest?.say({ type: 'report', seq: ++terminal.seq, executionId, status: 'working' });
    },
    'cancel all': () => {
      if (this.gateway.health.refuses()) return;
      const order = { userId: 'u1', isMeant: () => true, cause: 'cancelled_by_operator' } as const;
      this.gateway.core.cancelOrders(order).catch(isDiskFailure);
    },
    halt: () => this.#commit((transaction) => halt(transaction, null, 1)),
    resume: () => this.#commit(resumeTrading),
    'ask for a snapshot': ({ key }) => {
      const source = this.gateway.registry.findActive('u1', key);
      if (source === undefined) return;
      const answers: SnapshotAnswer[] = [];
      this.#questions.push(answers);
      void this.gateway.core.terminals.snapshots
        .request(source)
        .then((answer) => answers.push(answer));
    },
    'answer the snapshot': (terminal) => {
      const data = { snapshotId: terminal.snapshotId };
      const seq = ++terminal.seq;
      terminal.newest?.say({ type: 'event', seq, event: 'state_snapshot', data });
    },
    turn: () => turns(1),
    turns: () => turns(),
    ...this.#disk.acts,
    'half a second passes': () => this.#pass(500),
    'half a minute passes': () => this.gateway.pass(25_000, 500),
    'the loop stalls': (_, pick) => {
      this.gateway.clock.elapse(pick % 30_000);
      return this.gateway.pass(500);
    },
    'kill in a commit that is lost': () => this.#kill('lost'),
    'kill in a commit that is kept': () => this.#kill('kept'),
  };

  async begin(): Promise<void> {
    // Ids go on after those of the users that the store has.
    await this.gateway.store.write((batch) => batch.put('users', user.userId, user));
    this.#start();
    for (const terminal of this.#terminals) {
      this.#connect(terminal);
      this.#greet(terminal, 0);
    }
  }

  async take(act: Act, pick: number): Promise<void> {
    const terminal = this.#terminals[pick % 2] as Terminal;
    await this.#act[act](terminal, pick >> 1);
    this.#hear();
  }

  #start(): void {
    const { hub } = this.gateway;
    this.#statuses.clear();
    const publish = hub.publish.bind(hub);
    hub.publish = (userId, event) => {
      if (event.name === 'source_status') {
        const { status } = event.data as { status: SourceStatus };
        const before = this.#statuses.get(event.sourceKey);
        assert(mayFollow[status].includes(before), `${status} after ${before}`);
        this.#statuses.set(event.sourceKey, status);
      }
      return publish(userId, event);
    };
  }

  #connect(terminal: Terminal): void {
    terminal.snapshotId = '';
    terminal.lines.push(new Line(this.gateway.connect()));
  }

  #greet({ newest, instanceId }: Terminal, pick: number): void {
    if (newest?.isOpen !== true || newest.capabilities.length > 0) return;
    newest.capabilities = hellos[pick % hellos.length] as readonly Capability[];
    newest.plugin.hello({ instanceId, capabilities: newest.capabilities });
  }

  #commit(work: Parameters<SimulatedGateway['store']['transact']>[0]): void {
    const { store, core } = this.gateway;
    store.transact(work).then(() => core.endUnsent(), isDiskFailure);
  }

  #hear(): void {
    for (const terminal of this.#terminals) {
      for (const line of terminal.lines) {
        for (const frame of line.read()) this.#judge(terminal, line, frame);
      }
    }
    for (const answers of this.#questions) assert(answers.length <= 1);
  }

  #judge(terminal: Terminal, { capabilities, sent }: Line, frame: Frame): void {
    const executionId = String(frame['executionId']);
    const stored = readExecution(this.gateway.store, 'u1', executionId);
    if (frame.type === 'snapshot') terminal.snapshotId = String(frame['snapshotId']);
    if (frame.type === 'cancel') {
      assert(capabilities.includes('cancel'));
      assert(stored?.cancel, `${executionId}: its cancel left, and is not on disk`);
      this.#cancelled.add(executionId);
    }
    if (frame.type !== 'submit') return;
    assert(capabilities.includes('submit'));
    assert(
      stored?.maySend === true || stored?.delivery === 'sent' || stored?.delivery === 'confirmed',
    );
    // Ids grow with acceptance, so that an order that leaves twice is not above the one before it.
    assert(executionId > (sent.at(-1) ?? ''), `${executionId} left behind ${sent.at(-1)}`);
    assert(!this.#cancelled.has(executionId), `${executionId} left behind its cancel`);
    sent.push(executionId);
    terminal.orders.push(executionId);
  }

  async #pass(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= 500) {
      await this.gateway.pass(500);
      for (const { newest } of this.#terminals) newest?.say({ type: 'heartbeat' });
    }
  }

  async #kill(fate: 'lost' | 'kept'): Promise<void> {
    this.#hear();
    // Nothing that the process does from now on leaves it.
    for (const terminal of this.#terminals) {
      for (const line of terminal.lines) line.drop();
      terminal.lines = [];
    }
    this.#questions = [];
    await this.#disk.die(fate);
    this.gateway = this.gateway.restart();
    this.#start();
    await turns();
  }

  async finish(): Promise<void> {
    this.#disk.recover();
    await this.#pass(2_000);
    this.#commit(resumeTrading);
    for (const { lines } of this.#terminals) {
      for (const { isOpen, plugin } of lines) if (isOpen) plugin.drain(Infinity);
    }
    await this.#pass(6_000);
    this.#hear();
    this.#checkRest();
    for (const { lines } of this.#terminals) for (const line of lines) line.drop();
    await this.gateway.pass(10 * 60_000, 5_000);
    const { core, book, registry, deadlines } = this.gateway;
    assert.equal(registry.connectedCount, 0);
    assert.equal(core.terminals.budgets.of('u1').connections, 0);
    assert([...this.#statuses.values()].every((status) => status === 'offline'));
    assert(deadlines.size <= 2 * book.size, 'only the book has deadlines');
  }

  #checkRest(): void {
    const { registry, book, core, presence } = this.gateway;
    assert.equal(core.terminals.snapshots.openCount, 0);
    for (const answers of this.#questions) assert.equal(answers.length, 1);
    assert.equal(core.terminals.budgets.of('u1').reportsWaiting, 0);
    for (const { key, lines } of this.#terminals) {
      const source = registry.find('u1', key);
      for (const { plugin, isOpen, sent } of lines) {
        assert.equal(presence.isOpen(plugin.connection.connectionId), isOpen);
        if (source?.connection !== plugin.connection) continue;
        if (!source.capabilities.includes('submit')) continue;
        for (const entry of book.ofSource('u1', key)) {
          const { status, delivery, maySend, cancel } = entry.execution;
          assert.notEqual(status, 'queued', `${entry.executionId} waits`);
          const isOwed = delivery === 'sent' && maySend && cancel === null;
          if (isOwed && core.timeouts.maySend(entry)) assert(sent.includes(entry.executionId));
        }
      }
    }
  }
}

function isDiskFailure(error: unknown): void {
  assert(error instanceof StoreFailure, String(error));
}

t.test('each order leaves once on a connection, in its turn, and nothing is left over', () =>
  playStories(acts, { minLength: 20, maxLength: 120 }, 100, async (taken) => {
    const life = new Life();
    await life.begin();
    for (const { act, pick } of taken) await life.take(act, pick);
    await life.finish();
  }),
);
