/**
 * The collections whose records are held in memory. That there is none is held, too, where a poller looks first,
 * where each signal looks whether its key was revoked, for switches that were never touched, and, of a bounded
 * number, for API keys that nobody has.
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
