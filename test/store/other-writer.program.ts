/** Opens the store as the operator's shell does, writes once, says so, and stays. */
import { openStore } from '../../src/store/lmdb-store.js';

const store = openStore(process.argv[2] as string);
await store.write((batch) => {
  batch.put('meta', 'from-other', 1);
  batch.put('emails', 'from-other', 'u');
});
process.send?.('flushed');
process.on('message', () => undefined);
