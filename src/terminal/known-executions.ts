/**
 * Builds the `executions` of `hello`. The gateway applies them as reports without a `seq`, before the
 * redelivered reports; so an execution with an unacknowledged report is left out, otherwise the gateway would
 * ignore that report as backward. A command that was not reported on is left out: its entry would confirm it,
 * and an order without any report would never become `unknown`.
 */
import { frameBytesMax, type HelloExecution } from '../plugins/protocol.js';
import { isFinal } from '../model/execution.js';
import type { Journal } from './journal.js';
import { evidenceOf } from './journal-state.js';
import type { Outgoing } from './outgoing.js';

/** Limit of the protocol's `hello`; the oldest executions are left out. */
const entriesMax = 1_000;
/** Leaves room in the frame for the rest of `hello`. */
const bytesMax = frameBytesMax - 8 * 1024;

export function knownExecutions(journal: Journal, outgoing: Outgoing): HelloExecution[] {
  const entries: HelloExecution[] = [];
  const reported = outgoing.reported();
  let bytes = 0;
  for (const known of journal.executions().reverse()) {
    const { executionId, isReported, status } = known;
    if (!isReported || isFinal(status) || reported.has(executionId)) continue;
    const entry = { executionId, ...evidenceOf(known) };
    bytes += Buffer.byteLength(JSON.stringify(entry)) + 1;
    if (entries.length === entriesMax || bytes > bytesMax) break;
    entries.push(entry);
  }
  return entries.reverse();
}
