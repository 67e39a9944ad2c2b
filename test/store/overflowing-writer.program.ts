/**
 * Writes more than its file may hold, and reports how the store behaved. The signal that the system
 * sends with the refused write is ignored, so that the write fails as it does on a full disk.
 */
import { openStore } from '../../src/store/lmdb-store.js';

process.on('SIGXFSZ', () => undefined);
const unhandled: string[] = [];
process.on('unhandledRejection', (error) => unhandled.push(String(error)));

let lastCommitOk: boolean | undefined;
const store = openStore(process.argv[2] as string, {
  onCommit: (ok) => {
    lastCommitOk = ok;
  },
});

const resolved: string[] = [];
const rejected: string[] = [];
const failures = new Set<string>();
let message = '';
async function note(keys: readonly string[], flushed: Promise<void>): Promise<void> {
  try {
    await flushed;
    resolved.push(...keys);
  } catch (error) {
    rejected.push(...keys);
    failures.add((error as Error).name);
    message = (error as Error).message;
  }
}

// A short turn gets one promise from lmdb, a long one two, and so does one long write.
const turns = [
  { writes: 5, putsPerWrite: 1, length: 4000 },
  { writes: 1500, putsPerWrite: 1, length: 250 },
  { writes: 1, putsPerWrite: 1500, length: 250 },
];
for (let round = 0; round < 4; round++) {
  for (const { writes, putsPerWrite, length } of turns) {
    const outcomes = [];
    for (let i = 0; i < writes; i++) {
      const keys = Array.from({ length: putsPerWrite }, (_, j) => `${round}.${length}.${i}.${j}`);
      const flushed = store.write((batch) => {
        for (const key of keys) batch.put('emails', key, 'u'.repeat(length));
      });
      outcomes.push(note(keys, flushed));
    }
    await Promise.all(outcomes);
  }
}
const lastCommitOkAfterFailure = lastCommitOk;

let failedTransaction = 'none';
await store
  .transact((transaction) => {
    transaction.put('meta', 'too much', 'x'.repeat(3_000_000));
  })
  .catch((error: unknown) => {
    failedTransaction = (error as Error).name;
  });

await store.write((batch) => batch.put('meta', 'small', 1));
await new Promise(setImmediate);
process.send?.(
  JSON.stringify({
    unhandled,
    failures: [...failures],
    message,
    resolved: resolved.length,
    rejected: rejected.length,
    lastCommitOkAfterFailure,
    missing: resolved.filter((key) => store.get('emails', key) === undefined).length,
    lostVisible: rejected.filter((key) => store.get('emails', key) !== undefined).length,
    failedTransaction,
    transactionVisible: store.get('meta', 'too much') !== undefined,
    smallWriteLater: store.get('meta', 'small') === 1,
    lastCommitOkInTheEnd: lastCommitOk,
  }),
);
await store.close();
process.disconnect();
