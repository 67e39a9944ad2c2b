/** What a session tells its owner to do, and the numbers that the owner makes durable before. */
import type { FixMessage, ReceivedMessage } from './message.js';
import type { SessionEnd } from './session-end.js';

/** The next numbers to send and to receive. */
export interface SequenceNumbers {
  readonly out: number;
  readonly in: number;
}

export type SessionAction =
  | { readonly kind: 'send'; readonly message: FixMessage }
  /** An application message or a Reject, in order, each once for as long as the numbers live. */
  | { readonly kind: 'deliver'; readonly message: ReceivedMessage }
  | { readonly kind: 'logged_on' }
  /** Both sequences begin anew: numbers from before mean nothing now. */
  | { readonly kind: 'reset' }
  /** The counterparty asks for messages with these numbers, and so has not taken them. */
  | { readonly kind: 'missed'; readonly from: number; readonly to: number }
  /** The message was not taken, or passes over others: their numbers are used up all the same. */
  | { readonly kind: 'unread'; readonly message: ReceivedMessage }
  | ({ readonly kind: 'end' } & SessionEnd);
