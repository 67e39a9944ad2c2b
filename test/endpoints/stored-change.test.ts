import t from 'tap';
import { storeChange } from '../../src/endpoints/stored-change.js';
import type { Exchange } from '../../src/http/exchange.js';
import { Deadlines } from '../../src/lib/deadlines.js';
import { commitAnswerMs, type StorageHealth } from '../../src/store/storage-health.js';
import { StoreFailure, WriteRefused } from '../../src/store/store.js';
import { SimulatedClock } from '../support/simulated-clock.js';

const bug = new Error('bug');
const throws = (error: Error) => (): Promise<string> => Promise.reject(error);
const outcomes: Record<string, [() => Promise<string>, result: unknown, answers: string[]]> = {
  'a change that is on disk is left to the caller': [async () => 'done', 'done', []],
  'what the store refused did not happen': [
    throws(new WriteRefused()),
    undefined,
    ['storage_unavailable'],
  ],
  'what failed in the store may have happened': [
    throws(new StoreFailure()),
    undefined,
    ['unconfirmed'],
  ],
  'any other error is a bug': [throws(bug), bug, []],
};

for (const [name, [change, result, answers]] of Object.entries(outcomes)) {
  t.test(name, async (t) => {
    const { told, deadlines, make } = setUp();
    t.equal(await make(change).catch((error: unknown) => error), result);
    t.strictSame(told, answers);
    t.equal(deadlines.size, 0);
  });
}

t.test('while the disk takes no changes, none is begun', async (t) => {
  const { told, make } = setUp(true);
  t.equal(await make(() => Promise.reject(new Error('begun'))), undefined);
  t.strictSame(told, ['storage_unavailable']);
});

t.test('a commit that hangs is answered in time', async (t) => {
  const { clock, told, make } = setUp();
  void make(() => new Promise(() => undefined));
  clock.advance(commitAnswerMs - 1);
  t.strictSame(told, []);
  clock.advance(1);
  t.strictSame(told, ['unconfirmed']);
});

function setUp(refuses = false) {
  const clock = new SimulatedClock();
  const deadlines = new Deadlines(clock);
  const told: string[] = [];
  const exchange = { fail: (code: string) => told.push(code) } as unknown as Exchange;
  const storage = { refuses: () => refuses } as unknown as StorageHealth;
  const make = (change: () => Promise<string>) =>
    storeChange({ deadlines, storage }, exchange, () => told.push('unconfirmed'), change);
  return { clock, deadlines, told, make };
}
