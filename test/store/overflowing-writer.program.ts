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
function noteFailure(error: unknown): void {
  failures.add((error as Error).name);
  message = (error as Error).message;
}

for (let turn = 0; turn < 12; turn++) {
  // Long turns get two promises from lmdb, short ones one.
  const count = turn % 3 === 0 ? 5 : 1500;
  const writes = [];
  for (let i = 0; i < count; i++) {
    const key = `${turn}.${i}`;
    writes.push(
      store
        .write((batch) => batch.put('emails', key, 'u'.repeat(count === 5 ? 4000 : 250)))
        .then(
          () => resolved.push(key),
          (error: unknown) => {
            rejected.push(key);
            noteFailure(error);
          },
        ),
    );
  }
  await Promise.all(writes);
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
