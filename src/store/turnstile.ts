/**
 * Keeps a thread out of a transaction while its process ends: Node stops threads wherever they are, and one that
 * is stopped within a transaction of lmdb leaves its lock behind, for which the end of the process then waits for
 * ever. Lies in memory that both threads share.
 */

/** Longer than any transaction on a disk that works. */
const patienceMs = 5_000;

export interface Turnstile {
  /** [whether a transaction runs, whether the process ends] */
  readonly state: Int32Array;
}

export function createTurnstile(): Turnstile {
  return { state: new Int32Array(new SharedArrayBuffer(8)) };
}

/** Runs `work` unless the process ends. */
export function pass<T>({ state }: Turnstile, work: () => T): T {
  Atomics.store(state, 0, 1);
  try {
    if (Atomics.load(state, 1) === 1) throw new Error('the process ends');
    return work();
  } finally {
    Atomics.store(state, 0, 0);
    Atomics.notify(state, 0);
  }
}

/** Lets nobody pass any more. @returns whether nobody is within. */
export function bar({ state }: Turnstile): boolean {
  Atomics.store(state, 1, 1);
  return Atomics.wait(state, 0, 1, patienceMs) !== 'timed-out';
}
