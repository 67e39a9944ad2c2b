import type { Execution } from '../../src/model/execution.js';
import { fromRecord, recordOf } from '../../src/signals/stored-execution.js';
import type { Reader } from '../../src/store/store.js';

/** @returns the durable execution with all of its fills. */
export function readExecution(
  store: Reader,
  userId: string,
  executionId: string,
): Execution | undefined {
  const record = recordOf(store, userId, executionId);
  return record && fromRecord(store, userId, record);
}
