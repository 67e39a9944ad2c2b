/**
 * Program: examines the store of the directory that is its only argument, in a process of its own,
 * since lmdb ends the process that comes upon a damaged page. Its one message is the report, or why
 * the store cannot be opened.
 */
import { setTimeout as rest } from 'node:timers/promises';
import { openStore } from '../store/lmdb-store.js';
import { StartRefused } from '../store/refusal.js';
import { type StoreReport, walkStore } from './store-walk.js';

export type ExaminerMessage =
  { readonly report: StoreReport } | { readonly refusal: string } | undefined;

async function examine(directory: string): Promise<ExaminerMessage> {
  try {
    const store = openStore(directory);
    const report = await walkStore(store, () => rest(0));
    await store.close();
    return { report };
  } catch (error) {
    if (!(error instanceof StartRefused)) throw error;
    return { refusal: error.message };
  }
}

process.send?.(await examine(process.argv[2] as string));
process.disconnect();
