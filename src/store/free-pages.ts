/**
 * lmdb 3.5.6 can fail within a commit, or end the process, with certain lists of free pages
 * (native-notes/lmdb.md). A retry applies the same frames of the log and would fail each time; a commit of a
 * random size before it changes the list.
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
