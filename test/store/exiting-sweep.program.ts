/** Exits while the thread of the index is within a transaction. */
import { openStore } from '../../src/store/lmdb-store.js';

const sweeper = new URL('./slow-sweeper.js', import.meta.url).href;
const store = openStore(process.argv[2] as string, { sweeper });
const order = { cycle: 1, limits: { idempotencyRetentionMs: 0, executionRetentionDays: 0 } };
// The thread is ready when it has answered.
await store.sweep({ ...order, now: 0 });
void store.sweep({ ...order, now: 1_000 });
setTimeout(() => process.exit(7), 200);
