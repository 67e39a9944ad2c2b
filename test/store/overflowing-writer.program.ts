/**
 * Writes while its disk fails every write, and reports how the store behaved. A limit on the size of files
 * breaks the disk; the program ignores the signal that the system sends with a refused write, so that the
 * write fails as it does on a broken disk.
 */
import { errorText } from '../../src/lib/error-text.js';
import { openStore } from '../../src/store/lmdb-store.js';
import type { SweepOrder } from '../../src/store/sweeper.js';
import { breakDisk, mendDisk, thisProcess } from '../harness/disk/write-failure.js';
import { eventually } from '../support/eventually.js';
import { SimulatedClock } from '../support/simulated-clock.js';

process.on('SIGXFSZ', () => undefined);
const unhandled: string[] = [];
process.on('unhandledRejection', (error) => unhandled.push(String(error)));

let lastCommitOk: boolean | undefined;
const clock = new SimulatedClock();
const store = openStore(process.argv[2] as string, {
  segmentBytes: 64 * 1024,
  clock,
  onCommit: (failure) => {
    lastCommitOk = failure === undefined;
  },
});

const fates = new Map<string, string>();
const messages: string[] = [];
async function note(key: string, flushed: Promise<void>): Promise<void> {
  try {
    await flushed;
    fates.set(key, 'resolved');
  } catch (error) {
    fates.set(key, (error as Error).name);
    messages.push((error as Error).message);
  }
}

function put(key: string): Promise<void> {
  const flushed = store.write((batch) => batch.put('emails', key, 'u'.repeat(4_000)));
  return note(key, flushed);
}

async function putBehind(): Promise<void> {
  // The first write is under way when the second comes.
  const underWay = put('under way');
  await new Promise(setImmediate);
  await Promise.all([underWay, put('behind')]);
}

await Promise.all([put('before a'), put('before b')]);
breakDisk(thisProcess);
await putBehind();
const lastCommitOkAfterFailure = lastCommitOk;
clock.advance(100);
const indexFailure = store.index().failure;
const sweepFailure = await store.sweep({} as SweepOrder).catch(errorText);
let failedTransaction = 'none';
await store
  .transact((transaction) => {
    transaction.put('meta', 'too late', 1);
  })
  .catch((error: unknown) => {
    failedTransaction = (error as Error).name;
  });
mendDisk(thisProcess);
await put('after');
await eventually(() => {
  clock.advance(1_000);
  return store.index().waitingBytes === 0;
});
const isVisible = (key: string): boolean => store.get('emails', key) !== undefined;
process.send?.(
  JSON.stringify({
    unhandled,
    fates: Object.fromEntries(fates),
    visible: [...fates.keys()].filter(isVisible),
    messages,
    lastCommitOkAfterFailure,
    indexFailure,
    sweepFailure,
    failedTransaction,
    transactionVisible: store.get('meta', 'too late') !== undefined,
    lastCommitOkInTheEnd: lastCommitOk,
  }),
);
await store.close();
process.disconnect();
