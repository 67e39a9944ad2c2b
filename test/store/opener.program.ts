/** Opens the store as the operator's shell does and closes it, again and again, until it is told to end. */
import { openStore } from '../../src/store/lmdb-store.js';

let isOver = false;
process.on('message', () => (isOver = true));
let opens = 0;
while (!isOver) {
  const store = openStore(process.argv[2] as string);
  store.get('meta', 'n');
  await store.close();
  if (++opens === 1) process.send?.('opened');
  await new Promise((resolve) => setImmediate(resolve));
}
process.send?.(`${opens} times`);
process.disconnect();
