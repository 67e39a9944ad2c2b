/**
 * What the gateway promised in a recording, as plain data: every answer, report and command with its moment.
 * `at` is the number of the recording's event with which the promise left; null if it never left.
 */
import type { SourceName } from '../../../src/model/source-name.js';
import type { Observation } from '../crash/observation.js';
import type { RequestView } from '../crash/request-history.js';

/** A 202. */
export interface AnswerFact {
  readonly at: number;
  readonly user: string;
  readonly kind: 'signal' | 'cancel' | 'cancel-all';
  /** Idempotency-Key. */
  readonly key: string;
  readonly path: string;
  readonly body: string;
  readonly text: string;
}

export interface ViewFact {
  readonly at: number;
  readonly user: string;
  readonly view: RequestView;
}

/** A value that a command gave to a subject; the next command on it began after this one had ended. */
export interface ChangeFact {
  readonly at: number;
  readonly subject: SubjectKind;
  /** Name of the user, the API key or the switch. */
  readonly name: string;
  readonly value: string;
}

export type SubjectKind = 'user' | 'key' | 'halt' | 'public api';

export interface LoginFact {
  readonly at: number;
  readonly user: string;
  readonly token: string;
  readonly sessionToken: string;
}

export interface TerminalFact extends SourceName {
  readonly id: string;
  readonly user: string;
}

export interface Facts {
  /** Email → an API key that is never revoked. */
  readonly users: Readonly<Record<string, string>>;
  readonly terminals: readonly TerminalFact[];
  readonly logins: readonly LoginFact[];
  readonly answers: readonly AnswerFact[];
  readonly views: readonly ViewFact[];
  readonly changes: readonly ChangeFact[];
  /** `at`: when the gateway sent the frame that the terminal saw; null for the terminal's own frames. */
  readonly observations: readonly { readonly at: number | null; readonly seen: Observation }[];
  /** signalIds that were ever sent, by user. */
  readonly sent: Readonly<Record<string, readonly string[]>>;
}
