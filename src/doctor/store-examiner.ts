/**
 * Program: examines the store of the directory that is its only argument, in a process of its own,
 * since lmdb ends the process that reads a damaged page. It works as the owner of the directory, so
 * that root leaves no file of its own there. Its one message is the report, or why the store cannot be
 * opened.
 */
import { setTimeout as rest } from 'node:timers/promises';
import { becomeOwnerOf } from '../admin/owner.js';
import { openStore } from '../store/lmdb-store.js';
import { FormerFormat, NoSpace, OtherFormat, StartRefused } from '../store/refusal.js';
import { type StoreReport, walkStore } from './store-walk.js';

/** Why the store was not examined; after any cause but damage it may be intact. */
export type RefusalCause = 'access' | 'space' | 'former_format' | 'other_format' | 'damage';

export type ExaminerMessage =
  | { readonly report: StoreReport }
  | {
      readonly refusal: string;
      readonly cause: RefusalCause;
    }
  | undefined;

/** By the class of the refusal, or by the code of its cause: a name of the system or a number of lmdb. */
const causes: ReadonlyMap<unknown, RefusalCause> = new Map<unknown, RefusalCause>([
  [FormerFormat, 'former_format'],
  [OtherFormat, 'other_format'],
  [NoSpace, 'space'],
  ...['EACCES', 'EPERM', 'EROFS', 13, 1, 30].map((code) => [code, 'access'] as const),
  ...['ENOSPC', 'EDQUOT', 28, 122].map((code) => [code, 'space'] as const),
]);

async function examine(directory: string): Promise<ExaminerMessage> {
  try {
    const store = openStore(directory, { takesOver: false });
    const report = await walkStore(store, () => rest(0));
    await store.close();
    return { report };
  } catch (error) {
    if (!(error instanceof StartRefused)) throw error;
    return { refusal: error.message, cause: causeOf(error) };
  }
}

function causeOf(error: StartRefused): RefusalCause {
  const { code } = (error.cause ?? {}) as { readonly code?: unknown };
  return causes.get(error.constructor) ?? causes.get(code) ?? 'damage';
}

// The doctor was killed: nobody reads the report, and a gateway may wait for the directory.
process.once('disconnect', () => process.exit());
const directory = process.argv[2] as string;
becomeOwnerOf(directory);
process.send?.(await examine(directory));
process.disconnect();
