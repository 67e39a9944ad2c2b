/**
 * The store against a plain map: writes and transactions, some of which throw, beside a log that fails, an
 * index that is filled at any time, and lives that end with or without a close.
 */
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import t from 'tap';
import { openStore } from '../../src/store/lmdb-store.js';
import { type Range, type Reader, type Store, type Writer } from '../../src/store/store.js';
import { eventually } from '../support/eventually.js';
import { SimulatedClock } from '../support/simulated-clock.js';

const numRuns = process.env['TEST_ALL'] === undefined ? 60 : 1_000;
t.setTimeout(600_000);

interface Deed {
  readonly key: string;
  /** Undefined removes the key. */
  readonly value: number | undefined;
}

type Step =
  | { readonly do: 'write' | 'transact'; readonly deeds: readonly Deed[]; readonly throws: boolean }
  | { readonly do: 'turn' | 'settle' | 'fill' | 'reopen' | 'kill' };

type Found = Map<string, number>;

const key = fc.constantFrom('a', 'ab', 'b', 'ba', 'c', 'ca', 'd');
const deed = fc.record({ key, value: fc.option(fc.nat(999), { nil: undefined }) });
const deeds = fc.record({
  do: fc.constantFrom('write' as const, 'transact' as const),
  deeds: fc.array(deed, { minLength: 1, maxLength: 4 }),
  throws: fc.integer({ min: 0, max: 5 }).map((n) => n === 0),
});
const pause = fc.record({
  do: fc.constantFrom('turn' as const, 'settle' as const, 'fill' as const),
});
const end = fc.record({ do: fc.constantFrom('reopen' as const, 'kill' as const) });
const steps = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: deeds },
    { weight: 4, arbitrary: pause },
    { weight: 1, arbitrary: end },
  ),
  { maxLength: 30 },
);
const range: fc.Arbitrary<Range<'meta'>> = fc.record(
  { start: key, end: key, limit: fc.nat(4), reverse: fc.boolean() },
  { requiredKeys: [] },
);

class Bug extends Error {}

t.test('every read is that of a plain map, wherever what it reads lies', async (t) => {
  // Each run's directory stays until the end: lmdb identifies an open store by its file's inode number.
  const directory = t.testdir();
  const property = fc.asyncProperty(
    steps,
    fc.array(range, { maxLength: 4 }),
    async (all, ranges) => {
      const run = new Run(mkdtempSync(join(directory, 'run-')), ranges);
      try {
        for (const step of all) await run.take(step);
        await run.take({ do: 'reopen' });
      } finally {
        await run.end();
      }
    },
  );
  await fc.assert(property, { numRuns, interruptAfterTimeLimit: 400_000 });
  t.pass('in every state');
});

class Run {
  /** Each life has a clock of its own, so that the threads of a killed life do nothing more. */
  #clock = new SimulatedClock();
  store: Store;
  /** The rows after the newest write, and after the newest acknowledged one. */
  newest: Found = new Map();
  seen: Found = new Map();
  underWay: Promise<void>[] = [];
  #count = 0;
  readonly #killed: Store[] = [];
  #seenNumber = 0;

  constructor(
    readonly directory: string,
    readonly ranges: readonly Range<'meta'>[],
  ) {
    this.store = this.#open();
  }

  /** Closes all stores: lmdb would take a later file with the same inode number for one that is open. */
  async end(): Promise<void> {
    for (const store of [this.store, ...this.#killed]) await store.close();
  }

  #open(): Store {
    this.#clock = new SimulatedClock();
    return openStore(this.directory, { clock: this.#clock, segmentBytes: 16 * 1024 });
  }

  async take(step: Step): Promise<void> {
    if ('deeds' in step) this.#write(step.do, step.deeds, step.throws);
    else if (step.do === 'turn') await new Promise(setImmediate);
    else await Promise.all(this.underWay.splice(0));
    if (step.do === 'fill') await this.#fill();
    if (step.do === 'reopen') await this.store.close();
    // A killed process closes nothing: its store is left alone until the end of the run.
    if (step.do === 'kill') this.#killed.push(this.store);
    if (step.do === 'reopen' || step.do === 'kill') this.store = this.#open();
    this.#compare(this.store, this.seen);
  }

  #write(kind: 'write' | 'transact', deeds: readonly Deed[], throws: boolean): void {
    const next = new Map(this.newest);
    const number = ++this.#count;
    const work = (batch: Writer, reader?: Reader): void => {
      for (const { key, value } of deeds) {
        if (value === undefined) {
          batch.remove('meta', `k${key}`);
          batch.remove('signalIds', ['user', key]);
          next.delete(key);
        } else {
          batch.put('meta', `k${key}`, value);
          batch.put('signalIds', ['user', key], String(value));
          next.set(key, value);
        }
        if (reader !== undefined) this.#compare(reader, next);
      }
      if (throws) throw new Bug('no');
    };
    const outcome =
      kind === 'write'
        ? this.store.write(work)
        : this.store.transact((transaction) => work(transaction, transaction));
    if (!throws) this.newest = next;
    this.underWay.push(
      outcome.then(
        () => {
          if (throws) throw new Error('a throw was passed over');
          // Writes that are acknowledged together may resolve in any order.
          if (number > this.#seenNumber) [this.seen, this.#seenNumber] = [next, number];
        },
        (error: unknown) => {
          if (!(error instanceof Bug)) throw error;
        },
      ),
    );
  }

  async #fill(): Promise<void> {
    await eventually(() => {
      this.#clock.advance(100);
      return this.store.index().waitingBytes === 0;
    });
  }

  #compare(reader: Reader, expected: Found): void {
    const all = [...expected].map(([key, record]) => ({ key: `k${key}`, record }));
    all.sort((a, b) => (a.key < b.key ? -1 : 1));
    for (const wanted of [{}, ...this.ranges]) {
      const { limit = Infinity, reverse = false, ...bounds } = wanted;
      const [start, end] = [bounds.start && `k${bounds.start}`, bounds.end && `k${bounds.end}`];
      const [low, high] = reverse ? [end, start] : [start, end];
      const within = all.filter(({ key }) => {
        const isAbove = low === undefined || (reverse ? key > low : key >= low);
        return isAbove && (high === undefined || (reverse ? key <= high : key < high));
      });
      if (reverse) within.reverse();
      // The bounds leave out the other keys of `meta`.
      const found = reader.range('meta', {
        start: start ?? (reverse ? 'k~' : 'k'),
        end: end ?? (reverse ? 'k' : 'k~'),
        ...(limit === Infinity ? {} : { limit }),
        reverse,
      });
      const wantedRows = within.slice(0, limit);
      if (JSON.stringify(found) !== JSON.stringify(wantedRows)) {
        throw new Error(
          `${JSON.stringify(wanted)}: ${JSON.stringify(found)}, not ${JSON.stringify(wantedRows)}`,
        );
      }
    }
    for (const name of ['a', 'ab', 'b', 'ba', 'c', 'ca', 'd']) {
      const found = reader.get('meta', `k${name}`);
      if (found !== expected.get(name)) throw new Error(`${name}: ${found}`);
      // Look-ups of signalIds that find nothing lead to known gaps.
      const signal = reader.get('signalIds', ['user', name]);
      if (signal !== (found === undefined ? undefined : String(found)))
        throw new Error(`signal ${name}: ${signal}, not ${found}`);
    }
  }
}
