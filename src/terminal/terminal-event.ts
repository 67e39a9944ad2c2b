/** An event as a terminal tells it; the client adds when it occurred and its number. */
import type { PluginEventName } from '../events/event-names.js';

export interface TerminalEventDraft {
  readonly event: PluginEventName;
  readonly data: object;
  /** The terminal's own line of text, if it wrote one. */
  readonly rawText?: string;
  readonly executionId?: string;
  readonly orderRef?: string;
}

export type TellEvent = (event: TerminalEventDraft) => void;

/** What an event or an order came from. */
export interface Origin {
  readonly executionId: string;
  readonly orderRef?: string | undefined;
}

/** The fields by which an event names its origin; what does not apply is left out. */
export function originOf({ executionId, orderRef }: Origin): {
  readonly executionId: string;
  readonly orderRef?: string;
} {
  return orderRef === undefined ? { executionId } : { executionId, orderRef };
}
