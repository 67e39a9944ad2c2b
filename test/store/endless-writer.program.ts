/**
 * Writes until it is killed. Each turn writes many rows and, in one of the same writes, their number. The
 * program reports the turn's number after the flush.
 */
import { openStore } from '../../src/store/lmdb-store.js';

const store = openStore(process.argv[2] as string);
const rowsPerWrite = 3;

for (let turn = 0; ; turn++) {
  const writes = 1 + ((turn * 131) % 900);
  let flushed: Promise<void> | undefined;
  for (let i = 0; i < writes; i++) {
    flushed = store.write((batch) => {
      if (i === 0) batch.put('meta', `turn:${turn}`, writes * rowsPerWrite);
      for (let row = 0; row < rowsPerWrite; row++) {
        batch.put('signalIds', [`${turn}`, `${i}.${row}`], 'r'.repeat(100));
      }
    });
  }
  await flushed;
  process.send?.(`${turn}`);
}
