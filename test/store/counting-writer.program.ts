/** Adds one to a number in the store, as often as it is told to, each time in a transaction. */
import { once } from 'node:events';
import { openStore } from '../../src/store/lmdb-store.js';

const [directory, times] = process.argv.slice(2) as [string, string];
const store = openStore(directory);
process.send?.('ready');
await once(process, 'message');
for (let i = 0; i < Number(times); i++) {
  await store.transact((transaction) => {
    transaction.put('meta', 'n', Number(transaction.get('meta', 'n') ?? 0) + 1);
  });
}
await store.close();
process.send?.('done');
process.disconnect();
