/**
 * The operator's stops of the run with their times: what each kind covers, refuses and denies. Kept over all
 * restarts of the gateway.
 */
import type { Operation } from './operation.js';

interface StopKind {
  /** Code of the refusal of a new signal. */
  readonly refusal: string;
  /** Reason code of the executions that the stop ends. */
  readonly denial: string;
  readonly mayCover: (operation: Operation, target: string) => boolean;
  readonly covers: (operation: Operation, target: string) => boolean;
}

const ofEverybody = (): boolean => true;
const ofUser = ({ name }: Operation, user: string): boolean => name.user === user;

export const stopKinds = {
  halt: {
    refusal: 'trading_halted',
    denial: 'trading_halted',
    mayCover: ofEverybody,
    covers: ofEverybody,
  },
  freeze: {
    refusal: 'account_frozen',
    denial: 'account_frozen',
    mayCover: ofUser,
    covers: ofUser,
  },
  revocation: {
    refusal: 'invalid_api_key',
    denial: 'key_revoked',
    mayCover: ({ apiKeys }, apiKey) => apiKeys.has(apiKey),
    // If two keys sent a signal, either may have submitted it.
    covers: ({ apiKeys }, apiKey) => apiKeys.has(apiKey) && apiKeys.size === 1,
  },
} as const satisfies Record<string, StopKind>;

export type StopKindName = keyof typeof stopKinds;

/** Times are wall times in Unix ms; Infinity: not yet, or not known. */
export class Stop {
  /** When its command ended, or when a probe after a restart showed it in force. */
  inForceAt = Infinity;
  /** When the command that ends it was started. */
  endingAt = Infinity;
  endedAt = Infinity;

  constructor(
    readonly kindName: StopKindName,
    /** A user's email, an API key, or empty for all. */
    readonly target: string,
  ) {}

  get kind(): StopKind {
    return stopKinds[this.kindName];
  }

  get isCertain(): boolean {
    return this.inForceAt < Infinity && this.endingAt === Infinity;
  }

  get isOver(): boolean {
    return this.endedAt < Infinity;
  }
}

export class Stops {
  readonly #all: Stop[] = [];

  begin(kind: StopKindName, target: string): Stop {
    const stop = new Stop(kind, target);
    this.#all.push(stop);
    return stop;
  }

  /** Whether a stop gives this refusal to a request that was sent at `sentAt`. */
  mayRefuse(code: string, operation: Operation, sentAt: number): boolean {
    return this.#all.some(
      ({ kind, target, endedAt }) =>
        kind.refusal === code && kind.mayCover(operation, target) && sentAt <= endedAt,
    );
  }

  mayDeny(reason: string, operation: Operation, acceptedAt: number): boolean {
    return this.#all.some(
      ({ kind, target, endedAt }) =>
        kind.denial === reason && kind.mayCover(operation, target) && acceptedAt <= endedAt,
    );
  }

  /** Whether a stop was in force when the gateway accepted the operation. */
  isAcceptedUnder(operation: Operation, acceptedAt: number): boolean {
    return this.#all.some(
      ({ kind, target, inForceAt, endingAt }) =>
        kind.covers(operation, target) && inForceAt < acceptedAt && acceptedAt < endingAt,
    );
  }

  /** The time from which on nothing of the operation may leave; Infinity if no stop covers it. */
  stoppedAt(operation: Operation, acceptedAt: number): number {
    const covering = this.#all.filter(
      ({ kind, target, endingAt }) => kind.covers(operation, target) && acceptedAt < endingAt,
    );
    return Math.min(...covering.map(({ inForceAt }) => inForceAt));
  }
}
