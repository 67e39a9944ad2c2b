/** On one thread of libuv: hashes that queue there, then a write. Reports the order of the ends. */
import { pbkdf2 } from 'node:crypto';
import { promisify } from 'node:util';
import { open } from 'lmdb';

const ends: string[] = [];
const database = open<string>(process.argv[2] as string, { noSubdir: false });
await database.put('first', 'x');
const hash = promisify(pbkdf2);
const hashes = [1, 2, 3].map((n) =>
  hash('password', 'salt', 200_000, 32, 'sha256').then(() => ends.push(`hash ${n}`)),
);
const write = database.put('second', 'x').then(() => ends.push('write'));
await Promise.all([...hashes, write]);
process.send?.(JSON.stringify(ends));
process.disconnect();
