/** Defines a pass of the retention sweep: a generator that scans rows and yields removals. */
import type { Limits } from '../limits.js';
import type { Reader, Writer } from '../store/store.js';

/** Removes an expired row. Checks it again in the transaction, because it may have changed meanwhile. */
export type Removal = (transaction: Reader & Writer) => void;
/** Yields once per row: undefined when the row stays. */
export type Pass = Generator<Removal | undefined, void, void>;
export type RetentionLimits = Pick<Limits, 'idempotencyRetentionMs' | 'executionRetentionDays'>;
