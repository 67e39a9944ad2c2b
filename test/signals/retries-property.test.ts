/**
 * Random retries of the same signals on a disk that hangs, fails, refuses and recovers: each signal has at
 * most one request, however its writes end, and nothing stays counted once the disk is well.
 */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import t from 'tap';
import { isFinal } from '../../src/model/execution.js';
import type { ScriptedPlugin } from '../support/scripted-plugin.js';
import { FailingDisk, weighted } from '../support/random-acts.js';
import { SimulatedGateway, turns } from '../support/simulated-gateway.js';

const signals = ['s1', 's2', 's3'] as const;
const keyId = 1;
const limits = { staleProcessingMs: 5_000 };

const weights = {
  submit: 12,
  turn: 6,
  turns: 4,
  hang: 2,
  release: 3,
  'the commit fails': 2,
  'the commit fails and is kept': 2,
  'writes are refused': 1,
  'writes are taken': 2,
  'half a second passes': 3,
  'it becomes stale': 3,
};

type Act = keyof typeof weights;

const acts = fc.record({
  act: weighted(weights),
  signalId: fc.constantFrom(...signals),
});

class Story {
  readonly gateway = new SimulatedGateway({ limits });
  readonly #disk = new FailingDisk(() => this.gateway.memory);
  /** signalId → the requestIds in its answers. */
  readonly told = new Map<string, Set<string>>(signals.map((id) => [id, new Set()]));
  #plugin: ScriptedPlugin | undefined;
  #deadlines = 0;

  readonly act: Readonly<Record<Act, (signalId: string) => unknown>> = {
    submit: (signalId) => this.#submit(signalId),
    turn: () => turns(1),
    turns: () => turns(),
    ...this.#disk.acts,
    'half a second passes': () => this.gateway.clock.advance(500),
    'it becomes stale': async () => {
      await this.gateway.pass(limits.staleProcessingMs);
      this.#plugin?.say({ type: 'heartbeat' });
    },
  };

  async begin(): Promise<void> {
    this.#plugin = await this.gateway.plugin();
    this.#deadlines = this.gateway.deadlines.size;
  }

  /** Submits a signal, with the endpoint's checks in their order. */
  #submit(signalId: string): void {
    const { gateway } = this;
    const now = gateway.clock.now();
    const known = gateway.idempotency.lookUp('u1', signalId, () => `signal ${signalId}`, now);
    if (known.kind === 'replay') this.told.get(signalId)?.add(known.record.requestId);
    if (known.kind !== 'free' || gateway.acceptance.holderOf('u1', signalId) !== undefined) return;
    gateway.accept({ signalId, idempotencyKey: signalId, keyId, ttlMs: 300_000 }, (answer) => {
      if (typeof answer === 'object') this.told.get(signalId)?.add(answer.request.requestId);
    });
  }

  async recover(): Promise<void> {
    this.#disk.recover();
    await this.gateway.pass(3_000, 1_000);
  }

  check(): void {
    const { gateway } = this;
    const requests = gateway.store.range('requests').map(({ record }) => record);
    for (const signalId of signals) {
      const own = requests.filter((request) => request.signalId === signalId);
      assert(own.length <= 1, `${signalId} has ${own.length} requests`);
      const ids = own.map(({ requestId }) => requestId);
      for (const id of this.told.get(signalId) ?? []) assert(ids.includes(id), `${id} is lost`);
      const { kind } = gateway.idempotency.lookUp(
        'u1',
        signalId,
        () => `signal ${signalId}`,
        gateway.clock.now(),
      );
      assert.equal(kind, own.length === 1 ? 'replay' : 'free', signalId);
      const [requestId] = ids;
      const holder = requestId === undefined ? undefined : { requestId };
      assert.deepEqual(gateway.acceptance.holderOf('u1', signalId), holder, signalId);
    }
    const open = [...gateway.book.walk('u1')].filter(({ execution }) => !isFinal(execution.status));
    assert.equal(gateway.book.openOrders.of(keyId), open.length, 'open orders of the key');
    assert.equal(gateway.deadlines.size, this.#deadlines + gateway.book.size, 'deadlines');
    if (requests.length === 0) return;
    const { signalsToday, undecidedFrom } = gateway.core.quota.count('u1', 'next');
    assert.deepEqual([signalsToday, undecidedFrom], [requests.length + 1, undefined], 'quota');
  }
}

t.test('a signal is accepted once, however often it is retried on whatever disk', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(acts, { minLength: 8, maxLength: 60 }), async (taken) => {
      const story = new Story();
      await story.begin();
      for (const { act, signalId } of taken) await story.act[act](signalId);
      await story.recover();
      story.check();
    }),
    { numRuns: 300 },
  );
});
