/** Every operation by its name, for the gateway and for a command that runs without one. */
import { accountOperations } from './account-operations.js';
import { keyOperations } from './key-operations.js';
import type { Operations } from './operation.js';
import { orderOperations } from './order-operations.js';
import type { OperationName } from './requests.js';
import { signalOperations } from './signal-operations.js';
import { upkeepOperations } from './upkeep-operations.js';

export const operations = {
  ...accountOperations,
  ...keyOperations,
  ...signalOperations,
  ...orderOperations,
  ...upkeepOperations,
} as const satisfies Operations;

/** What an operation gives, a refusal included. */
export type ResultOf<N extends OperationName> = Awaited<ReturnType<(typeof operations)[N]['run']>>;
