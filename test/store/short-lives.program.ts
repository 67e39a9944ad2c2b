/**
 * Reports what the store holds, then writes until it is killed: each write, some of them transactions, puts
 * the next number and a row that belongs to it. The program reports each number when its write is
 * acknowledged.
 */
import { openStore } from '../../src/store/lmdb-store.js';

const [directory, wide] = process.argv.slice(2) as [string, string];
const store = openStore(directory, { segmentBytes: 256 * 1024 });
const last = Number(store.get('meta', 'last') ?? -1);
process.send?.(`found ${last} ${store.keys('signalIds', { prefix: ['u'] }).length}`);
const record = 'r'.repeat(Number(wide));

for (let n = last + 1; ; n++) {
  const number = n;
  const put = (batch: Parameters<Parameters<typeof store.write>[0]>[0]): void => {
    batch.put('meta', 'last', number);
    batch.put('signalIds', ['u', `${number}`], record);
  };
  const flushed = number % 5 === 0 ? store.transact(put) : store.write(put);
  void flushed.then(() => process.send?.(`${number}`));
  // Varies how many writes are under way at once.
  if (number % 7 > 3) await flushed;
}
