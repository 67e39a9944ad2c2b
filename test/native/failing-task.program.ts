/** Work for the threads of threads.test.ts. */
import { pbkdf2Sync } from 'node:crypto';

export function fail(): never {
  throw Object.assign(new Error('broken'), { code: 'malformed_hash' });
}

export function work(): number {
  return pbkdf2Sync('password', 'salt', 20_000, 32, 'sha256').length;
}
