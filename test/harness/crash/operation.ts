/**
 * One operation of a bot under one Idempotency-Key, sent one or more times. It is open until an
 * answer says whether it took effect.
 */
export interface OperationName {
  readonly user: string;
  readonly kind: 'signal' | 'cancel' | 'cancel-all';
  readonly key: string;
  readonly path: string;
  readonly body: string;
  /** The signalId, the orderRef, or empty. */
  readonly subject: string;
  /** `ts + ttlMs` of a signal. */
  readonly expiresAt: number;
}

export class Operation {
  /** Body of the 202. */
  accepted: string | undefined;
  /** Code of the final refusal. */
  refused: string | undefined;
  attempts = 0;
  /** Attempts without an answer so far. */
  underWay = 0;
  /** Wall times of the first attempt and of the newest. */
  firstSentAt = Infinity;
  sentAt = 0;
  /** API keys with which it was sent. */
  readonly apiKeys = new Set<string>();
  /** 202s without `Idempotent-Replayed`. */
  firstAnswers = 0;

  constructor(readonly name: OperationName) {}

  get isOpen(): boolean {
    return this.accepted === undefined && this.refused === undefined;
  }

  get fields(): any {
    return this.accepted === undefined ? undefined : JSON.parse(this.accepted);
  }
}
