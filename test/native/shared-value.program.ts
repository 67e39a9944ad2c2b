/** Puts a value from memory that threads may share; exits with 0 if the value comes back unchanged. */
import { open } from 'lmdb';

const root = open<Buffer>(process.argv[2] as string, { noSubdir: false, encoding: 'binary' });
const value = Buffer.from(new SharedArrayBuffer(100_000)).fill('shared');
root.putSync('key', value);
process.exit(root.get('key')?.equals(value) === true ? 0 : 1);
