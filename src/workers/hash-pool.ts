/**
 * Verifies passwords on a pool of worker threads. A hash takes tens of milliseconds, so the queue is bounded,
 * and a full queue returns 'busy': login then responds with 503. Counts admissions itself, because Piscina's
 * threads are not ready at once and its overflow is a throw. Owns the threads until `close`.
 */
import { Piscina } from 'piscina';
import type { VerifyTask } from './hash-worker.js';

export interface HashPool {
  /** @returns whether the password matches the hash; rejects when the hash is malformed. */
  verify(passwordHash: string, password: string): Promise<boolean | 'busy'>;
  /** Passwords that wait for a thread. */
  waiting(): number;
  /** Completes the admitted tasks, then ends the threads; new calls get 'busy'. */
  close(): Promise<void>;
}

export interface HashPoolOptions {
  readonly threads: number;
  /** Waiting tasks, beside those that run. */
  readonly queueMax: number;
  /** Called when a thread without a task has ended, such as one that could not start; another takes its place. */
  readonly onError: (error: unknown) => void;
}

export function createHashPool({ threads, queueMax, onError }: HashPoolOptions): HashPool {
  const piscina = new Piscina({
    filename: new URL('./hash-worker.js', import.meta.url).href,
    name: 'verify',
    // Piscina requires the module first, and Node aborts a process that ends while a thread requires an ES module:
    // native-notes/hashing.md. Without the option the thread imports it.
    execArgv: ['--no-experimental-require-module'],
    minThreads: threads,
    maxThreads: threads,
    maxQueue: threads + queueMax,
    // Otherwise Piscina starts later tasks before one that found no free thread.
    stricterFIFO: true,
    recordTiming: false,
  });
  // Without a listener it would end the process. A task whose thread ends rejects instead.
  piscina.on('error', onError);
  const admitted = new Set<Promise<unknown>>();
  let closing = false;

  async function run(task: VerifyTask): Promise<boolean | 'malformed_hash' | 'busy'> {
    if (closing || admitted.size >= threads + queueMax) return 'busy';
    const running = piscina.run(task, { name: 'verify' }) as Promise<boolean | 'malformed_hash'>;
    admitted.add(running);
    try {
      return await running;
    } finally {
      admitted.delete(running);
    }
  }

  return {
    async verify(passwordHash, password) {
      const answer = await run({ passwordHash, password });
      if (answer === 'malformed_hash') throw new Error('a stored password hash cannot be read');
      return answer;
    },
    waiting: () => Math.max(0, admitted.size - threads),
    async close() {
      closing = true;
      await Promise.allSettled(admitted);
      await piscina.destroy();
    },
  };
}
