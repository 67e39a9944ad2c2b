/**
 * Imports a user and stalls at a row: says so once the rows before it are written, and waits to be killed.
 * Arguments: the data directory, the file, the number of rows.
 */
import { systemClock } from '../../src/lib/clock.js';
import { noEffects } from '../../src/admin/operation.js';
import { lockDirectory } from '../../src/store/directory-lock.js';
import { openStore } from '../../src/store/lmdb-store.js';
import { importUser } from '../../src/transfer/import-user.js';
import { readUserFileHead, readUserRows, type UserFileHead } from '../../src/transfer/user-file.js';

const [dataDir, file, rowsMax] = process.argv.slice(2) as [string, string, string];
await lockDirectory(dataDir, 'command');
const store = openStore(dataDir);
const rows = readUserRows(file);
let given = 0;
await importUser(
  { store, clock: systemClock, effects: noEffects, importing: new Set() },
  { ...(readUserFileHead(file) as UserFileHead), keyIds: [] },
  () => {
    const row = rows.next();
    if (row.done !== true && given++ < Number(rowsMax)) return Promise.resolve({ row: row.value });
    process.send?.('stalled');
    return new Promise(() => undefined);
  },
);
