/** One pass of the retention sweep: a generator that goes through rows and says which to remove. */
import type { Limits } from '../limits.js';
import type { Reader, Writer } from '../store/store.js';

/** Removes a row that was found due. It checks again, because the row may have changed meanwhile. */
export type Removal = (transaction: Reader & Writer) => void;
/** One step per row: undefined when the row stays. */
export type Pass = Generator<Removal | undefined, void, void>;
export type RetentionLimits = Pick<Limits, 'idempotencyRetentionMs' | 'executionRetentionDays'>;
