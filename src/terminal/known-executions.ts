/**
 * Builds the `executions` of `hello`. The gateway applies them as reports without a `seq`, before the
 * redelivered reports; so fills of unacknowledged reports are excluded here, otherwise the gateway would
 * ignore those reports as backward, together with their fills. A command that was not reported on is left out:
 * its entry would confirm it, and an order that nobody answers for would never become `unknown`.
 */
import { frameBytesMax, type Evidence } from '../plugins/protocol.js';
import { isFinal } from '../model/execution.js';
import { rounded } from '../lib/decimal.js';
import type { Journal } from './journal.js';
import { evidenceOf, type KnownExecution } from './journal-state.js';
import type { Outgoing } from './outgoing.js';

export type HelloExecution = Evidence & { readonly executionId: string };

/** Limit of the protocol's `hello`; the oldest executions are left out. */
const entriesMax = 1_000;
/** Leaves room in the frame for the rest of `hello`. */
const bytesMax = frameBytesMax - 8 * 1024;

export function knownExecutions(journal: Journal, outgoing: Outgoing): HelloExecution[] {
  const entries: HelloExecution[] = [];
  let bytes = 0;
  for (const known of journal.executions().reverse()) {
    if (!known.isReported || isFinal(known.status)) continue;
    const entry = { executionId: known.executionId, ...evidenceBefore(known, outgoing) };
    bytes += Buffer.byteLength(JSON.stringify(entry)) + 1;
    if (entries.length === entriesMax || bytes > bytesMax) break;
    entries.push(entry);
  }
  return entries.reverse();
}

/** @returns the state of the execution before its unacknowledged fills. */
function evidenceBefore(known: KnownExecution, outgoing: Outgoing): Evidence {
  const missing = outgoing
    .reportsOf(known.executionId)
    .reduce((sum, { fill }) => sum + (fill?.quantity ?? 0), 0);
  if (missing === 0) return evidenceOf(known);
  const { fills, remainingQuantity } = known;
  const filled = known.filledQuantity ?? fills.reduce((sum, { quantity }) => sum + quantity, 0);
  const filledQuantity = rounded(filled - missing);
  return {
    status: filledQuantity > 0 ? 'partially_filled' : 'working',
    filledQuantity,
    ...(remainingQuantity === undefined
      ? {}
      : { remainingQuantity: rounded(remainingQuantity + missing) }),
  };
}
