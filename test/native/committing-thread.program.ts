/**
 * As a thread: commits to the environment of the thread that started it. As a process: reports when its
 * first thread sees that commit.
 */
import { isMainThread, Worker, workerData } from 'node:worker_threads';
import { open } from 'lmdb';

const options = { noSubdir: false, overlappingSync: false };

if (isMainThread) {
  const directory = process.argv[2] as string;
  const root = open<number>(directory, options);
  root.putSync('key', 1);
  const done = new Int32Array(new SharedArrayBuffer(4));
  const worker = new Worker(new URL(import.meta.url), { workerData: { directory, done } });
  const seen = [root.get('key')];
  // The wait does not end this turn, and so not the snapshot of its reads.
  Atomics.wait(done, 0, 0);
  seen.push(root.get('key'));
  root.resetReadTxn();
  seen.push(root.get('key'));
  await worker.terminate();
  process.send?.(JSON.stringify(seen));
  process.disconnect();
} else {
  const { directory, done } = workerData as { directory: string; done: Int32Array };
  const root = open<number>(directory, options);
  root.transactionSync(() => root.putSync('key', 2));
  Atomics.store(done, 0, 1);
  Atomics.notify(done, 0);
}
