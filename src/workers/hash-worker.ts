/**
 * Runs in a worker thread: one password at a time, with the synchronous functions, because the
 * asynchronous ones would queue on the thread pool of libuv that the store's commits run on.
 * Passwords are normalised (NFC): one typed as e plus accent is the same as one typed as é.
 */
import { hashSync, verifySync } from '@node-rs/argon2';
import { argon2Cost } from '../auth/password.js';

export interface VerifyTask {
  readonly passwordHash: string;
  readonly password: string;
}

/** The library's default algorithm is Argon2id; its enum cannot be read by isolated modules. */
export function hash(password: string): string {
  return hashSync(password.normalize('NFC'), {
    memoryCost: argon2Cost.memoryKib,
    timeCost: argon2Cost.passes,
    parallelism: argon2Cost.lanes,
  });
}

/** A value instead of a throw for a broken hash: an error loses its properties on the way back. */
export function verify(task: VerifyTask): boolean | 'malformed_hash' {
  const password = task.password.normalize('NFC');
  try {
    return verifySync(task.passwordHash, password);
  } catch {
    return 'malformed_hash';
  }
}
