/**
 * lmdb 3.5.6 can fail within a commit, or end the process, for what its list of free pages is just then
 * (native-notes/lmdb.md). What the log holds is the same at each try, and so such a commit would fail each time. A
 * commit of a random size before it leaves another list.
 */
import type { RootDatabase } from 'lmdb';
import { random } from '../lib/ids.js';
import { openDatabase } from './lmdb-index.js';

const recordsMax = 32;
/** Each takes a page of its own. */
const record = 'x'.repeat(3_000);

/** Leaves nothing in the store. */
export function stirFreePages(root: RootDatabase): void {
  const meta = openDatabase(root, 'meta');
  const keys = Array.from({ length: 1 + random() * recordsMax }, (_, i) => `page:${i}`);
  root.transactionSync(() => {
    for (const key of keys) meta.putSync(key, record);
    for (const key of keys) meta.removeSync(key);
  });
}
