/**
 * What `hello` says of unfinished executions. The gateway takes it as reports without a number, ahead
 * of the reports that are sent again; so fills that those will tell are left out here, or the
 * gateway would take the quantities from here and then refuse the fills as old.
 */
import { frameBytesMax, type Evidence } from '../plugins/protocol.js';
import { isFinal } from '../model/execution.js';
import { tidy } from './decimal.js';
import { evidenceOf, type Journal, type KnownExecution } from './journal.js';
import type { Outgoing } from './outgoing.js';

export type HelloExecution = Evidence & { readonly executionId: string };

/** What the protocol's `hello` holds; the newest are named, the oldest left out. */
const entriesMax = 1_000;
/** Leaves room in the frame for the rest of `hello`. */
const bytesMax = frameBytesMax - 8 * 1024;

export function knownExecutions(journal: Journal, outgoing: Outgoing): HelloExecution[] {
  const entries: HelloExecution[] = [];
  let bytes = 0;
  for (const known of journal.executions().reverse()) {
    if (isFinal(known.status)) continue;
    const entry = { executionId: known.executionId, ...evidenceBefore(known, outgoing) };
    bytes += Buffer.byteLength(JSON.stringify(entry)) + 1;
    if (entries.length === entriesMax || bytes > bytesMax) break;
    entries.push(entry);
  }
  return entries.reverse();
}

/** The execution as it stood before the fills that the gateway may still lack. */
function evidenceBefore(known: KnownExecution, outgoing: Outgoing): Evidence {
  const missing = outgoing
    .reportsOf(known.executionId)
    .reduce((sum, { fill }) => sum + (fill?.quantity ?? 0), 0);
  if (missing === 0) return evidenceOf(known);
  const filledQuantity = tidy((known.filledQuantity ?? missing) - missing);
  return {
    status: filledQuantity > 0 ? 'partially_filled' : 'working',
    filledQuantity,
    remainingQuantity: tidy((known.remainingQuantity ?? 0) + missing),
  };
}
