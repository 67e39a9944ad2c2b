/**
 * What the terminals received and sent, in order, and the messages by which the harness controls the
 * process of the terminals.
 */
import type { SourceName } from '../../../src/model/source-name.js';

export interface TerminalIdentity extends SourceName {
  /** Unique in the run. */
  readonly id: string;
  readonly sessionToken: string;
}

interface Seen {
  /** Wall time in Unix ms. */
  readonly at: number;
  /** The terminal's id. */
  readonly terminal: string;
  /** Counts the terminal's connections from 1. */
  readonly connection: number;
}

/** Received from the gateway. */
type Received =
  | {
      readonly kind: 'welcome';
      readonly connectionId: string;
      readonly lastSeq: number;
      readonly helloAt: number;
    }
  | {
      readonly kind: 'submit';
      readonly executionId: string;
      readonly requestId: string;
      readonly signalId: string;
      readonly orderRef: string | undefined;
      readonly expiresAt: string;
      readonly payload: unknown;
      /** How long the frame may have waited unread while this process was busy, in ms. */
      readonly unreadMs: number;
    }
  | { readonly kind: 'cancel'; readonly cancelRequestId: string; readonly executionId: string }
  | { readonly kind: 'acked'; readonly seq: number }
  | { readonly kind: 'error'; readonly code: string }
  | { readonly kind: 'closed'; readonly code: number };

/** Sent by the terminal; `sent`: on this connection at once, not kept for the next one. */
type Sent =
  | { readonly kind: 'ack'; readonly executionId?: string; readonly cancelRequestId?: string }
  | {
      readonly kind: 'report';
      readonly seq: number;
      readonly executionId: string;
      readonly status: string;
      readonly fillId: string | undefined;
      /** Sum of all fills so far. */
      readonly filledQuantity: number;
      readonly sent: boolean;
    }
  | {
      readonly kind: 'cancel_report';
      readonly seq: number;
      readonly executionId: string;
      readonly cancelRequestId: string;
      readonly status: string;
      readonly sent: boolean;
    }
  | { readonly kind: 'event'; readonly seq: number; readonly sent: boolean }
  | { readonly kind: 'known'; readonly executionId: string; readonly status: string };

export type ObservationDetails = Received | Sent;
export type Observation = Seen & ObservationDetails;
export type ObservationOf<K extends Observation['kind']> = Extract<Observation, { kind: K }>;

/** Messages to the terminals' process, which answers `waitUntilIdle` and `tell`. */
export type Command =
  | {
      readonly say: 'open';
      readonly seed: number;
      readonly identities: readonly TerminalIdentity[];
    }
  /** Connect to this URL. */
  | { readonly say: 'go'; readonly url: string }
  /** Send all delayed answers, stay connected, reply when the gateway has acknowledged all. */
  | { readonly say: 'waitUntilIdle' }
  | { readonly say: 'startLoad' }
  | { readonly say: 'tell' };
