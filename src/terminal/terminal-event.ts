/** Defines an event of a terminal; the client adds `occurredAt` and `seq`. */
import type { PluginEventName } from '../events/event-names.js';
import { withoutUndefined } from '../lib/without-undefined.js';

export interface TerminalEventDraft {
  readonly event: PluginEventName;
  readonly data: object;
  /** The terminal's own text, if any. */
  readonly rawText?: string;
  readonly executionId?: string;
  readonly orderRef?: string;
}

/** The command that an event or an order originates from. */
export interface Origin {
  readonly executionId: string;
  readonly orderRef?: string | undefined;
}

/** @returns the fields of an event that link it to its origin. */
export function originOf({ executionId, orderRef }: Origin) {
  return withoutUndefined({ executionId, orderRef });
}
