/**
 * Random lives of a plugin without a journal, which continues its numbers after each welcome's `lastSeq`, on
 * a disk that hangs, fails, refuses and recovers: a fill that an acknowledgement or a welcome covers is on
 * disk, and one that the plugin keeps gets there.
 */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import t from 'tap';
import { readExecution } from '../support/read-execution.js';
import { diskWeights, FailingDisk, weighted } from '../support/random-acts.js';
import type { ScriptedPlugin } from '../support/scripted-plugin.js';
import { SimulatedGateway, turns } from '../support/simulated-gateway.js';

const weights = {
  fill: 12,
  event: 5,
  connect: 5,
  drop: 2,
  'the plugin starts anew': 2,
  turn: 8,
  turns: 4,
  ...diskWeights,
  'two seconds pass': 3,
};

type Act = keyof typeof weights;

interface Kept {
  readonly seq: number;
  readonly frame: object;
  readonly fillId: string | undefined;
}

class Story {
  readonly gateway = new SimulatedGateway();
  readonly #disk = new FailingDisk(() => this.gateway.memory);
  #id = '';
  #plugin: ScriptedPlugin | undefined;
  #read = 0;
  #kept: Kept[] = [];
  #seq = 0;
  #made = 0;
  readonly #counted = new Set<string>();

  readonly act: Readonly<Record<Act, () => unknown>> = {
    fill: () => {
      const fillId = `f${++this.#made}`;
      const fill = { fillId, price: 1, quantity: 1, filledAt: '2026-01-15T12:00:00Z' };
      this.#make(
        { type: 'report', executionId: this.#id, status: 'partially_filled', fill },
        fillId,
      );
    },
    event: () =>
      this.#make({ type: 'event', event: 'order_update', data: { orderId: `${++this.#made}` } }),
    connect: () => this.#connect(),
    drop: () => this.#drop(),
    'the plugin starts anew': () => {
      this.#drop();
      this.#kept = [];
      this.#seq = 0;
    },
    turn: () => turns(1),
    turns: () => turns(),
    ...this.#disk.acts,
    'two seconds pass': () => this.gateway.pass(2_000, 500),
  };

  async begin(): Promise<void> {
    await this.#connect();
    const payload = '{"instrument":"ES","side":"buy","quantity":1000000}';
    [this.#id = ''] = await this.gateway.submit({ payload });
    assert(this.#id !== '');
  }

  async take(act: Act): Promise<void> {
    await this.act[act]();
    this.#hear();
    this.#look();
  }

  async end(): Promise<void> {
    this.#disk.recover();
    await this.gateway.pass(4_000, 500);
    await this.#connect();
    await this.gateway.pass(2_000, 500);
    this.#hear();
    this.#look();
    assert.deepEqual(this.#kept, [], 'all is acknowledged');
  }

  #make(frame: object, fillId?: string): void {
    // The plugin makes frames only while it is connected.
    if (this.#plugin === undefined || this.#plugin.closed !== undefined) return;
    this.#hear();
    const kept = { seq: ++this.#seq, frame, fillId };
    this.#kept.push(kept);
    this.#plugin.say({ ...frame, seq: kept.seq });
  }

  async #connect(): Promise<void> {
    this.#drop();
    this.#plugin = this.gateway.connect();
    this.#plugin.hello();
    this.#read = 0;
    this.#hear();
    for (const { seq, frame } of this.#kept) this.#plugin.say({ ...frame, seq });
    await turns(1);
  }

  #drop(): void {
    this.#hear();
    if (this.#plugin?.closed === undefined) this.#plugin?.drop();
    this.#plugin = undefined;
  }

  #hear(): void {
    const frames = this.#plugin?.frames.slice(this.#read) ?? [];
    this.#read += frames.length;
    for (const { type, seq, lastSeq } of frames) {
      if (type === 'ack') this.#count(seq as number);
      if (type === 'error') assert.fail(JSON.stringify(frames));
      if (type !== 'welcome') continue;
      this.#seq = Math.max(this.#seq, lastSeq as number);
      this.#count(lastSeq as number);
    }
  }

  #count(upTo: number): void {
    for (const { seq, fillId } of this.#kept)
      if (seq <= upTo && fillId !== undefined) this.#counted.add(fillId);
    this.#kept = this.#kept.filter(({ seq }) => seq > upTo);
  }

  #look(): void {
    const fills = readExecution(this.gateway.store, 'u1', this.#id)?.fills ?? [];
    const durable = new Set(fills.map(({ fillId }) => fillId));
    for (const fillId of this.#counted) assert(durable.has(fillId), `${fillId} is not on disk`);
  }
}

t.test('no number is counted for the frame of an earlier life', async (t) => {
  const stories = fc.asyncProperty(
    fc.array(weighted(weights), { minLength: 20, maxLength: 60 }),
    async (acts) => {
      const story = new Story();
      await story.begin();
      for (const act of acts) await story.take(act);
      await story.end();
    },
  );
  await t.resolves(fc.assert(stories, { numRuns: 150 }));
});
