/**
 * Runs the work of one `transact` inside lmdb. A child transaction, since only that rolls back:
 * lmdb's `transaction` commits what came before a throw.
 */
import type { Database, RootDatabase } from 'lmdb';
import { assert } from '../lib/assert.js';
import { commitFailure } from './group-commit.js';
import { assertKeyFits } from './key-encoding.js';
import type { Collection } from './key-layout.js';
import type { Reader, Writer } from './store.js';

/** Rejects with what `work` threw, or with `StoreFailure` when the commit failed. */
export async function runTransaction<T>(
  root: RootDatabase,
  reader: Reader,
  databases: Record<Collection, Database<string>>,
  work: (transaction: Reader & Writer) => T,
): Promise<T> {
  let open = false;
  let thrown: { readonly error: unknown } | undefined;
  const transaction: Reader & Writer = {
    ...reader,
    put(collection, key, record) {
      assert(open, 'a transaction is written to only while its work runs');
      assertKeyFits(key);
      void databases[collection].put(key, JSON.stringify(record));
    },
    remove(collection, key) {
      assert(open, 'a transaction is written to only while its work runs');
      void databases[collection].remove(key);
    },
  };
  try {
    return await root.childTransaction(() => {
      open = true;
      try {
        const result = work(transaction);
        assert(!(result instanceof Promise), 'the work of a transaction is synchronous');
        return result;
      } catch (error) {
        thrown = { error };
        throw error;
      } finally {
        open = false;
      }
    });
  } catch (error) {
    const failure = await commitFailure(error);
    throw thrown === undefined ? failure : thrown.error;
  }
}
