/** Opens a directory with lmdb alone, without a look at what lies in it. */
import { open } from 'lmdb';

open(process.argv[2] as string, { noSubdir: false });
process.send?.('opened');
process.disconnect();
