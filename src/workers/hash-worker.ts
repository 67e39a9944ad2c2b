/**
 * Runs in a worker thread: hashes one password at a time, synchronously, because the asynchronous functions
 * use the libuv thread pool, which the store's commits need. Normalizes passwords to NFC, so that a composed
 * and a decomposed é are the same. While processors are short, orders go before logins: on Linux the thread
 * lowers its own priority, unless the system forbids that.
 */
import { getPriority, setPriority } from 'node:os';
import { isMainThread } from 'node:worker_threads';
import { hashSync, verifySync } from '@node-rs/argon2';
import { argon2Cost } from '../auth/password.js';

export interface VerifyTask {
  readonly passwordHash: string;
  readonly password: string;
}

const niceIncrement = 10;
const nicest = 19;

// Not in the main thread, where commands hash, too; on other systems it would change the whole process.
if (!isMainThread && process.platform === 'linux') {
  try {
    setPriority(Math.min(nicest, getPriority() + niceIncrement));
  } catch {
    // A filter of system calls, such as a container's, forbids it: hashing works all the same.
  }
}

/** The library's default algorithm is Argon2id; isolatedModules cannot use its const enum. */
export function hash(password: string): string {
  return hashSync(password.normalize('NFC'), {
    memoryCost: argon2Cost.memoryKib,
    timeCost: argon2Cost.passes,
    parallelism: argon2Cost.lanes,
  });
}

/** Returns a value for a malformed hash: a thrown error loses its properties between threads. */
export function verify(task: VerifyTask): boolean | 'malformed_hash' {
  const password = task.password.normalize('NFC');
  try {
    return verifySync(task.passwordHash, password);
  } catch {
    return 'malformed_hash';
  }
}
