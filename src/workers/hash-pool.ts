/**
 * Password hashing on threads of its own. A hash takes tens of milliseconds, so the queue is bounded
 * and a full one is the value 'busy': login then answers 503, and nothing else suffers. Admission is
 * counted here rather than left to Piscina, whose threads are not ready at once and whose error for
 * an overflow is a throw. Owns the threads until `close`.
 */
import { Piscina } from 'piscina';
import type { VerifyTask } from './hash-worker.js';

/** `$argon2id$v=19$m=…,t=…,p=…$salt$digest`, which no 'busy' can be mistaken for. */
type PhcString = `$${string}`;

export interface HashPool {
  hash(password: string): Promise<PhcString | 'busy'>;
  /** @returns whether the password is the hash's; rejects when the hash itself is broken. */
  verify(passwordHash: string, password: string): Promise<boolean | 'busy'>;
  /** Passwords that wait for a thread. */
  waiting(): number;
  /** Finishes what was admitted, then ends the threads; from the call on everything is 'busy'. */
  close(): Promise<void>;
}

/** @param options.queueMax how many may wait beside those being hashed. */
export function createHashPool(options: { threads: number; queueMax: number }): HashPool {
  const { threads, queueMax } = options;
  const piscina = new Piscina({
    filename: new URL('./hash-worker.js', import.meta.url).href,
    name: 'verify',
    minThreads: threads,
    maxThreads: threads,
    maxQueue: threads + queueMax,
    // Otherwise Piscina puts a task that finds no thread behind all that came after it.
    stricterFIFO: true,
    recordTiming: false,
  });
  const admitted = new Set<Promise<unknown>>();
  let closing = false;

  async function run<T>(name: 'hash' | 'verify', task: string | VerifyTask): Promise<T | 'busy'> {
    if (closing || admitted.size >= threads + queueMax) return 'busy';
    const running = piscina.run(task, { name }) as Promise<T>;
    admitted.add(running);
    try {
      return await running;
    } finally {
      admitted.delete(running);
    }
  }

  return {
    hash: (password) => run<PhcString>('hash', password),
    async verify(passwordHash, password) {
      const answer = await run<boolean | 'malformed_hash'>('verify', { passwordHash, password });
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
