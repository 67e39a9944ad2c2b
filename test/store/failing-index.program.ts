/** Fills the index on a failing disk, and again once it is mended; a limit on file sizes breaks the disk. */
import { openStore } from '../../src/store/lmdb-store.js';
import { breakDisk, mendDisk, thisProcess } from '../harness/disk/write-failure.js';
import { eventually } from '../support/eventually.js';
import { SimulatedClock } from '../support/simulated-clock.js';

process.on('SIGXFSZ', () => undefined);
const clock = new SimulatedClock();
const store = openStore(process.argv[2] as string, { clock });

await store.write((batch) => batch.put('emails', 'ann', 'u'));
breakDisk(thisProcess);
await eventually(() => {
  clock.advance(100);
  return store.index().failure !== undefined;
});
console.log(store.index().failure);
mendDisk(thisProcess);
await eventually(() => {
  clock.advance(1_000);
  return store.index().waitingBytes === 0;
});
await store.close();
