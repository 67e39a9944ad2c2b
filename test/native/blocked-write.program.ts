/** Queues hashes and then a file write on libuv's only thread. Reports the order in which they end. */
import { pbkdf2 } from 'node:crypto';
import { open } from 'node:fs/promises';
import { promisify } from 'node:util';

const ends: string[] = [];
const file = await open(process.argv[2] as string, 'w');
const hash = promisify(pbkdf2);
const hashes = [1, 2, 3].map((n) =>
  hash('password', 'salt', 200_000, 32, 'sha256').then(() => ends.push(`hash ${n}`)),
);
const write = file.write('frame').then(() => ends.push('write'));
await Promise.all([...hashes, write]);
await file.close();
process.send?.(JSON.stringify(ends));
process.disconnect();
