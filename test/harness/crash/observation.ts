/**
 * What the terminals of the test saw and said, in order, as one process tells it to another; and the
 * words by which that other one leads them.
 */
export interface SourceName {
  readonly platform: string;
  readonly instanceId: string;
  readonly accountName: string;
}

export interface TerminalPlace extends SourceName {
  /** Names the terminal within the test. */
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

/** What came from the gateway. */
type Came =
  | { readonly kind: 'welcome'; readonly lastSeq: number; readonly helloAt: number }
  | {
      readonly kind: 'submit';
      readonly executionId: string;
      readonly requestId: string;
      readonly signalId: string;
      readonly orderRef: string | undefined;
      readonly expiresAt: string;
      readonly payload: unknown;
      /** For how long the frame may have lain unread, because this process was busy. */
      readonly unreadMs: number;
    }
  | { readonly kind: 'cancel'; readonly cancelRequestId: string; readonly executionId: string }
  | { readonly kind: 'acked'; readonly seq: number }
  | { readonly kind: 'error'; readonly code: string }
  | { readonly kind: 'closed'; readonly code: number };

/** What the terminal said; `sent`: written to this connection now, and not kept for the next. */
type Said =
  | { readonly kind: 'ack'; readonly executionId?: string; readonly cancelRequestId?: string }
  | {
      readonly kind: 'report';
      readonly seq: number;
      readonly executionId: string;
      readonly status: string;
      readonly fillId: string | undefined;
      /** All that is filled by now. */
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

export type Deed = Came | Said;
export type Observation = Seen & Deed;
export type ObservationOf<K extends Observation['kind']> = Extract<Observation, { kind: K }>;

/** To the terminals' process. */
export type Command =
  | { readonly say: 'open'; readonly seed: number; readonly places: readonly TerminalPlace[] }
  /** Connect there, and stay restless. */
  | { readonly say: 'go'; readonly url: string }
  /** Say all that is held back, stay connected, answer when the gateway has acknowledged all. */
  | { readonly say: 'calm' }
  | { readonly say: 'storm' }
  | { readonly say: 'tell' };

/** From it, one answer to each `calm` and `tell`. */
export type Reply =
  | { readonly reply: 'calm'; readonly unrest: readonly string[] }
  | { readonly reply: 'observations'; readonly observations: readonly Observation[] };
