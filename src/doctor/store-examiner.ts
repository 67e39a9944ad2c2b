/**
 * Program: examines the store of the directory that is its only argument, in a process of its own,
 * since lmdb ends the process that reads a damaged page. It works as the owner of the directory, so
 * that root leaves no file of its own there. Its one message is the report, or why the store cannot be
 * opened.
 */
import { setTimeout as rest } from 'node:timers/promises';
import { becomeOwnerOf } from '../admin/owner.js';
import { openStore } from '../store/lmdb-store.js';
import { FormerFormat, StartRefused } from '../store/refusal.js';
import { type StoreReport, walkStore } from './store-walk.js';

export type ExaminerMessage =
  | { readonly report: StoreReport }
  | {
      readonly refusal: string;
      /** The store may be well: rights are missing, or it has an earlier format. */
      readonly cause: 'access' | 'former_format' | 'damage';
    }
  | undefined;

/** As the system names them, and as lmdb gives them. */
const accessCodes: readonly unknown[] = ['EACCES', 'EPERM', 'EROFS', 13, 1, 30];

async function examine(directory: string): Promise<ExaminerMessage> {
  try {
    const store = openStore(directory, { takesOver: false });
    const report = await walkStore(store, () => rest(0));
    await store.close();
    return { report };
  } catch (error) {
    if (!(error instanceof StartRefused)) throw error;
    const code = (error.cause as { readonly code?: unknown } | undefined)?.code;
    const isAccess = accessCodes.includes(code);
    const isFormer = error instanceof FormerFormat;
    const cause = isFormer ? 'former_format' : isAccess ? 'access' : 'damage';
    return { refusal: error.message, cause };
  }
}

const directory = process.argv[2] as string;
becomeOwnerOf(directory);
process.send?.(await examine(directory));
process.disconnect();
