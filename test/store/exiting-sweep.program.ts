/** Exits while the thread of the index is within a transaction. */
import { openStore } from '../../src/store/lmdb-store.js';
import { slowSweep, slowSweeper } from './slow-sweep.js';

const store = openStore(process.argv[2] as string, { sweeper: slowSweeper });
// The thread is ready when it has answered.
await store.sweep(slowSweep(0));
void store.sweep(slowSweep(1_000));
setTimeout(() => process.exit(7), 200);
