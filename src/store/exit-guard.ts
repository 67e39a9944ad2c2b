/**
 * Keeps a thread out of a transaction while its process ends: Node stops threads wherever they are, and one that
 * is stopped within a transaction of lmdb leaves its lock behind, for which the end of the process then waits for
 * ever. Lies in memory that both threads share.
 */

/** Longer than any transaction on a disk that works. */
const transactionMsMax = 5_000;

/** [whether a transaction runs, whether the process ends] */
export type ExitGuard = Int32Array;

export function createExitGuard(): ExitGuard {
  return new Int32Array(new SharedArrayBuffer(8));
}

/** For the thread: runs a transaction. Throws when the process ends. */
export function runGuarded<T>(guard: ExitGuard, transaction: () => T): T {
  Atomics.store(guard, 0, 1);
  try {
    if (Atomics.load(guard, 1) === 1) throw new Error('the process ends');
    return transaction();
  } finally {
    Atomics.store(guard, 0, 0);
    Atomics.notify(guard, 0);
  }
}

/** For the process that ends: no transaction begins any more. @returns whether the one that ran has ended. */
export function beginExit(guard: ExitGuard): boolean {
  Atomics.store(guard, 1, 1);
  return Atomics.wait(guard, 0, 1, transactionMsMax) !== 'timed-out';
}
