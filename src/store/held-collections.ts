/**
 * The collections whose records are held in memory. The absence of a record is held, too, of open executions,
 * where a poller looks first, of revocations, which each signal looks for, of switches that were never set, and
 * of a bounded number of API keys that do not exist.
 */
import type { Collection } from './key-layout.js';

interface Holding {
  readonly holdsAbsence: boolean;
}

export const heldCollections: ReadonlyMap<Collection, Holding> = new Map<Collection, Holding>([
  ['switches', { holdsAbsence: true }],
  ['apiKeys', { holdsAbsence: true }],
  ['apiKeyHashes', { holdsAbsence: true }],
  ['users', { holdsAbsence: false }],
  ['requests', { holdsAbsence: false }],
  ['openExecutions', { holdsAbsence: true }],
  ['finalExecutions', { holdsAbsence: false }],
]);
