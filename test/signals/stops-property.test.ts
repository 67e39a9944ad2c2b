/**
 * Random lives of a gateway with stops: after a stop no submit frame of a covered signal leaves, whether the
 * signal is queued, under way to the disk, marked, in a backlog or already sent, across connections and
 * restarts.
 */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import t from 'tap';
import { halt, resumeTrading } from '../../src/auth/brakes.js';
import { enforceOnDisk } from '../../src/signals/stops-on-disk.js';
import { StoreFailure } from '../../src/store/store.js';
import { SimulatedGateway, user } from '../support/simulated-gateway.js';
import { Story } from './story.js';

type Step =
  | 'accept'
  | 'accept by another key'
  | 'turn'
  | 'turns'
  | 'connect'
  | 'drop'
  | 'congest'
  | 'drain'
  | 'acknowledge'
  | 'halt'
  | 'resume'
  | 'freeze'
  | 'unfreeze'
  | 'revoke'
  | 'a commit fails'
  | 'a commit fails that is kept'
  | 'recover'
  | 'kill in a commit that is lost'
  | 'kill in a commit that is kept'
  | 'become unknown'
  | 'halt and resume without a gateway';

const steps = fc.array(
  fc.oneof(
    { weight: 5, arbitrary: fc.constantFrom<Step>('accept', 'accept by another key') },
    { weight: 6, arbitrary: fc.constantFrom<Step>('turn', 'turn', 'turns') },
    { weight: 5, arbitrary: fc.constantFrom<Step>('connect', 'drop', 'congest', 'drain') },
    { weight: 1, arbitrary: fc.constant<Step>('acknowledge') },
    {
      weight: 2,
      arbitrary: fc.constantFrom<Step>('a commit fails', 'a commit fails that is kept', 'recover'),
    },
    { weight: 2, arbitrary: fc.constantFrom<Step>('halt', 'resume', 'freeze', 'unfreeze') },
    {
      weight: 1,
      arbitrary: fc.constantFrom<Step>(
        'revoke',
        'kill in a commit that is lost',
        'kill in a commit that is kept',
        'become unknown',
        'halt and resume without a gateway',
      ),
    },
  ),
  { minLength: 8, maxLength: 40 },
);

/** One life after another, on one store. */
class StoppedLives extends Story {
  gateway = new SimulatedGateway();
  /** signalId → the key that submitted it; and the signalIds that a stop has covered. */
  readonly keys = new Map<string, number>();
  readonly ended = new Set<string>();
  #seen = 0;
  readonly #frames: string[] = [];
  /** signalIds whose frame left after their stop. */
  readonly #late: string[] = [];

  async take(step: Step): Promise<void> {
    await this.#act[step]();
    this.look();
  }

  readonly #act: Readonly<Record<Step, () => unknown>> = {
    ...this.common,
    accept: () => this.#accept(1),
    'accept by another key': () => this.#accept(2),
    connect: () => {
      this.plugin = this.gateway.connect();
      this.#seen = 0;
      this.plugin.hello();
    },
    acknowledge: () => {
      const executionId = this.plugin?.of('submit').at(-1)?.['executionId'] as string | undefined;
      if (executionId !== undefined) this.plugin?.say({ type: 'ack', executionId });
    },
    halt: () => this.#stop(() => this.#commit((transaction) => halt(transaction, null, 1))),
    freeze: () =>
      this.#stop(() =>
        this.#commit((batch) => batch.put('users', 'u1', { ...user, frozen: true })),
      ),
    revoke: () =>
      this.#stop(() => this.#commit((batch) => batch.put('apiKeyHashes', ['u1', -1], 'hash')), 1),
    resume: () => this.#end((transaction) => resumeTrading(transaction)),
    unfreeze: () => this.#end((batch) => batch.put('users', 'u1', user)),
    'kill in a commit that is lost': () => this.#kill('lost'),
    'kill in a commit that is kept': () => this.#kill('kept'),
    'become unknown': () => this.gateway.pass(61_000, 30_500),
    'halt and resume without a gateway': () =>
      this.#kill('lost', async ({ store, clock }) => {
        await store.transact((transaction) => halt(transaction, null, 1));
        await enforceOnDisk(store, clock);
        await store.transact((transaction) => resumeTrading(transaction));
        this.#cover();
      }),
  };

  async #kill(
    fate: 'lost' | 'kept',
    meanwhile?: (dead: SimulatedGateway) => Promise<void>,
  ): Promise<void> {
    await this.die(fate);
    this.gateway.stop();
    await meanwhile?.(this.gateway);
    this.gateway = this.gateway.restart();
  }

  #accept(keyId: number): void {
    const signalId = `s${this.keys.size + 1}`;
    this.keys.set(signalId, keyId);
    const wish = { signalId, keyId, idempotencyKey: signalId, ttlMs: 300_000 };
    this.gateway.accept(wish, () => undefined);
  }

  #commit(work: Parameters<SimulatedGateway['store']['transact']>[0]): Promise<unknown> {
    return this.gateway.store.transact(work);
  }

  async #stop(commit: () => Promise<unknown>, keyId?: number): Promise<void> {
    const { memory, health } = this.gateway;
    // What has left by the time that the stop is on disk was in time.
    memory.watchCommits((succeeded) => {
      this.#gather();
      health.noteCommit(succeeded);
    });
    const stopped = succeeds(commit()).then((isOnDisk) => {
      // A stop that the disk refuses has no effect, as the operator is told.
      if (isOnDisk) this.#cover(keyId);
      return isOnDisk;
    });
    if (!(await this.inTime(stopped))) return;
    this.look();
    await this.inTime(this.gateway.core.endUnsent());
  }

  #cover(keyId?: number): void {
    for (const [signalId, key] of this.keys) {
      if (keyId === undefined || key === keyId) this.ended.add(signalId);
    }
  }

  async #end(work: Parameters<SimulatedGateway['store']['transact']>[0]): Promise<void> {
    await this.inTime(this.gateway.core.endUnsent());
    await this.inTime(succeeds(this.#commit(work)));
  }

  /** Checks every submit frame that has left since the last look. */
  protected look(): void {
    this.#gather();
    assert.deepEqual(this.#late, [], 'left after its stop');
  }

  #gather(): void {
    const { submitted } = this.plugin ?? { submitted: [] };
    const left = submitted.slice(this.#seen);
    this.#seen += left.length;
    this.#frames.push(...left);
    this.#late.push(...left.filter((signalId) => this.ended.has(signalId)));
  }

  /** Resumes trading, and checks that the orders which a stop ended stay ended. */
  async finish(): Promise<void> {
    this.gateway.memory.failNextCommits(0);
    for (const step of ['recover', 'resume', 'unfreeze', 'connect', 'turns'] as const) {
      await this.take(step);
    }
    for (const { record } of this.gateway.store.range('openExecutions')) {
      const wasSent = record.delivery !== 'not_sent';
      assert(wasSent || !this.ended.has(record.signalId), `${record.signalId} waits on`);
    }
    for (const { record } of this.gateway.store.range('finalExecutions')) {
      if (record.status !== 'denied' || !this.ended.has(record.signalId)) continue;
      assert(!this.#frames.includes(record.signalId), `${record.signalId} was sent and is denied`);
    }
  }
}

async function succeeds(commit: Promise<unknown>): Promise<boolean> {
  return commit.then(
    () => true,
    (error: unknown) => {
      assert(error instanceof StoreFailure);
      return false;
    },
  );
}

t.test('nothing leaves after its stop, whatever is under way', async (t) => {
  await fc.assert(
    fc.asyncProperty(steps, async (all) => {
      const story = new StoppedLives();
      await story.take('connect');
      for (const step of all) await story.take(step);
      await story.finish();
    }),
    { numRuns: 150 },
  );
  t.pass();
});
