/**
 * Whatever happens before and after: once a cancel-all is answered, each order that it matched ends, or has
 * one cancel, which leaves when its terminal is there; or an earlier cancel of it alone was under way.
 */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import t from 'tap';
import { isFinalCancel } from '../../src/model/cancellation.js';
import { isFinal } from '../../src/model/execution.js';
import type { CancelledOrders } from '../../src/signals/cancelled-orders.js';
import type { ScriptedPlugin } from '../support/scripted-plugin.js';
import { SimulatedGateway, turns } from '../support/simulated-gateway.js';

const steps = [
  'submit',
  'submit unflushed',
  'submit many',
  'connect',
  'drop',
  'ack',
  'fill',
  'cancel one',
  'cancel-all',
  'cancel-all unflushed',
  'a turn',
  'fail commits',
  'restart',
  'kill before the flush',
  'pass 1 s',
  'pass 61 s',
] as const;

type Step = (typeof steps)[number];

/** More orders than the gateway judges or changes in a turn. */
const many = 70;

/** A terminal that remembers its orders across connections and restarts of the gateway. */
class Terminal {
  plugin: ScriptedPlugin | undefined;
  readonly known = new Set<string>();
  readonly filled = new Set<string>();
  seq = 0;

  /** Takes the frames that came, oldest first: notes a submit, answers a cancel. */
  read(): void {
    const { plugin } = this;
    if (plugin === undefined || plugin.closed !== undefined) return;
    for (const frame of plugin.frames.splice(0)) {
      const executionId = String(frame['executionId']);
      if (frame.type === 'submit') this.known.add(executionId);
      if (frame.type === 'cancel') this.#cancel(String(frame['cancelRequestId']), executionId);
    }
  }

  #cancel(cancelRequestId: string, executionId: string): void {
    if (!this.known.has(executionId)) {
      const reasonCode = 'order_unknown_at_terminal';
      return this.#say({ type: 'cancel_report', cancelRequestId, status: 'rejected', reasonCode });
    }
    // A real terminal repeats the report until it is acknowledged.
    if (this.filled.has(executionId)) this.report(executionId, 'filled');
    const status = this.filled.has(executionId) ? 'too_late' : 'cancelled';
    this.#say({ type: 'cancel_report', cancelRequestId, status });
  }

  report(executionId: string, status: string): void {
    this.#say({ type: 'report', executionId, status });
  }

  #say(frame: object): void {
    this.plugin?.say({ ...frame, seq: ++this.seq });
  }
}

async function play(script: readonly Step[]): Promise<void> {
  let gateway = new SimulatedGateway();
  const terminal = new Terminal();
  const matched = new Map<string, string>();
  const note = (answer: string | undefined): void => {
    if (answer === undefined) return;
    for (const { executionId, outcome } of (JSON.parse(answer) as CancelledOrders).orders) {
      matched.set(executionId, outcome);
    }
  };
  const open = (): string[] => gateway.store.keys('openExecutions').map(([, id]) => id);
  let answers: (string | undefined)[] = [];
  const connect = async (): Promise<void> => {
    terminal.plugin?.connection.closed();
    terminal.plugin = await gateway.plugin();
  };
  await connect();
  const moves: Record<Step, () => unknown> = {
    submit: () => gateway.submit(),
    'submit unflushed': () => gateway.accept({}, () => undefined),
    'submit many': () => {
      for (let i = 0; i < many; i++) gateway.accept({}, () => undefined);
      return turns(1);
    },
    'a turn': () => turns(1),
    connect,
    drop: () => terminal.plugin?.closed === undefined && terminal.plugin?.drop(),
    ack: () => {
      terminal.read();
      if (terminal.plugin?.closed !== undefined) return;
      for (const executionId of terminal.known) terminal.plugin?.say({ type: 'ack', executionId });
    },
    fill: () => {
      terminal.read();
      const [executionId] = [...terminal.known].filter((id) => open().includes(id));
      if (executionId === undefined || terminal.plugin?.closed !== undefined) return;
      terminal.filled.add(executionId);
      terminal.report(executionId, 'filled');
    },
    'cancel one': async () => {
      const [id] = open();
      const { status, cancel } = (id && gateway.durable(id)) || {};
      if (id !== undefined && status === 'submitted' && cancel === null) await gateway.cancel(id);
    },
    'cancel-all': async () => {
      answers = gateway.cancelAllNow();
      await turns();
      answers.forEach(note);
    },
    'cancel-all unflushed': () => void (answers = gateway.cancelAllNow()),
    'fail commits': () => gateway.memory.failNextCommits(2),
    restart: async () => {
      await turns();
      answers.forEach(note);
      answers = [];
      gateway.memory.failNextCommits(0);
      gateway = gateway.restart();
      terminal.plugin = undefined;
    },
    'kill before the flush': async () => {
      answers.forEach(note);
      answers = [];
      gateway.memory.failNextCommits(Infinity);
      await turns();
      gateway.memory.failNextCommits(0);
      gateway = gateway.restart();
      terminal.plugin = undefined;
    },
    'pass 1 s': () => gateway.pass(1_000),
    'pass 61 s': () => gateway.pass(61_000, 10_000),
  };
  for (const step of script) {
    await moves[step]();
    answers.forEach(note);
  }
  await turns();
  await gateway.pass(10_000, 500);
  answers.forEach(note);
  // The terminal connects and reads its frames.
  for (let i = 0; i < 3; i++) {
    await connect();
    await turns();
    terminal.read();
    // The gateway retries a failed commit every second.
    await gateway.pass(3_000, 500);
  }
  for (const [id, outcome] of matched) {
    const execution = gateway.durable(id);
    assert.ok(execution, id);
    const { status, cancel } = execution;
    if (outcome === 'denied') {
      assert.equal(status, 'denied');
      assert.ok(!terminal.known.has(id), 'what is denied never leaves');
    } else {
      const isOver = isFinal(status) && status !== 'unknown';
      assert.ok(isOver || cancel !== null, `${id} is ${status} without a cancel`);
      // The cancel of one order does not wait for its terminal.
      const isNotSent = outcome === 'already_requested' && cancel?.status === 'not_sent';
      if (!isOver && !isNotSent) {
        assert.ok(isFinalCancel(cancel?.status ?? 'requested'), `${id}: ${cancel?.status}`);
        assert.ok(!terminal.known.has(id), `${id} lives at its terminal`);
      }
    }
  }
}

t.test('each order that was matched ends, or its one cancel leaves', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.constantFrom(...steps), { minLength: 3, maxLength: 25 }), play),
    { numRuns: 200, endOnFailure: true },
  );
});
