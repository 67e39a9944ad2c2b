/** Receives the broker's reports on commands and cancels, and its events. */
import type { Evidence } from '../plugins/protocol.js';
import type { CancelEvidence } from './journal-state.js';
import type { TerminalEventDraft } from './terminal-event.js';

export interface BrokerListener {
  report(executionId: string, evidence: Evidence): void;
  cancelReport(cancelRequestId: string, evidence: CancelEvidence): void;
  event(event: TerminalEventDraft): void;
}
