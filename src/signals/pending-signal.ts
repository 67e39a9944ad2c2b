/** A signal from the decision to accept it until the outcome of its commit is known. */
import type { Accepted, SignalSubmission } from './accepted-signal.js';

/** Why there is no 202: nothing has happened and nothing will, or the outcome is unknown. */
export type NotAccepted = 'storage_unavailable' | 'signal_processing_failed';

export type Answer = (accepted: Accepted | NotAccepted) => void;

export class PendingSignal {
  #answer: Answer | undefined;

  constructor(
    readonly submission: SignalSubmission,
    readonly accepted: Accepted,
    answer: Answer,
    /** The place of its write among all acceptances. */
    readonly number: number,
    readonly openOrders: number,
  ) {
    this.#answer = answer;
  }

  /** Only the first call counts. */
  answer(outcome: Accepted | NotAccepted): void {
    this.#answer?.(outcome);
    this.#answer = undefined;
  }
}
