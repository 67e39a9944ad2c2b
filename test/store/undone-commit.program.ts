/**
 * Takes back the newest commit of the store's index, as another process that opens the index can, and goes
 * on: the process must end before it acknowledges another write, or when it sweeps the index.
 */
import { openDatabase, openIndex, positionKey } from '../../src/store/lmdb-index.js';
import { openStore } from '../../src/store/lmdb-store.js';
import { eventually } from '../support/eventually.js';
import { SimulatedClock } from '../support/simulated-clock.js';
import { slowSweep, slowSweeper } from './slow-sweep.js';

const [directory, next] = process.argv.slice(2) as [string, 'write' | 'sweep'];
const clock = new SimulatedClock();
const store = openStore(directory, { clock, segmentBytes: 64 * 1024, sweeper: slowSweeper });

/** Writes a row so large that a file of the log holds only one. */
const put = (name: string): Promise<void> =>
  store.write((batch) => batch.put('emails', name, 'u'.repeat(40_000)));

async function fill(): Promise<void> {
  await eventually(() => {
    clock.advance(100);
    return store.index().waitingBytes === 0;
  });
}

await put('a');
await put('b');
await fill();
const root = openIndex(directory);
root.transactionSync(() => {
  openDatabase(root, 'meta').putSync(positionKey, '0');
  for (const name of ['a', 'b']) openDatabase(root, 'emails').removeSync(name);
});
if (next === 'sweep') await store.sweep(slowSweep(0));
await put('c');
console.log('c is acknowledged');
