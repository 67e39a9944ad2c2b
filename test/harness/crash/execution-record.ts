/**
 * What a terminal has seen and said of one execution, and how much of that the gateway has confirmed
 * as durable. The gateway's own view is held against it.
 */
import type { ObservationOf } from './observation.js';

interface Said {
  readonly status: string;
  readonly filledQuantity: number;
  /** Names of all fills told so far. */
  readonly fillIds: readonly string[];
  readonly seq: number;
}

export interface CancelAccount {
  /** Connections on which it came. */
  readonly connections: Set<number>;
  /** The end that the terminal reported. */
  said: string | undefined;
  /** The gateway has confirmed an acknowledgement or a report of it. */
  isConfirmed: boolean;
}

export class Account {
  /** As it first came; undefined when something was said of it that never came. */
  submit: ObservationOf<'submit'> | undefined;
  /** Connections on which the submit came. */
  readonly connections = new Set<number>();
  readonly said: Said[] = [];
  /** What a hello said of it: old news that counts only as long as nothing newer has arrived. */
  readonly hints = new Set<string>();
  readonly cancels = new Map<string, CancelAccount>();
  isAcknowledged = false;
  /** The gateway has confirmed an acknowledgement or a report of it. */
  isConfirmed = false;
  /** Of `said`: how many the gateway has confirmed, by the last of them. */
  confirmedCount = 0;

  constructor(
    readonly executionId: string,
    readonly terminal: string,
  ) {}

  report(status: string, filledQuantity: number, fillId: string | undefined, seq: number): void {
    const told = this.said.at(-1)?.fillIds ?? [];
    const fillIds = fillId === undefined || told.includes(fillId) ? told : [...told, fillId];
    this.said.push({ status, filledQuantity, fillIds, seq });
  }

  confirmReport(seq: number): void {
    const place = this.said.findLastIndex((said) => said.seq === seq);
    if (place < 0) return;
    this.confirmedCount = Math.max(this.confirmedCount, place + 1);
    this.isConfirmed = true;
  }

  /** The last that is known to be in effect. */
  get confirmed(): Said | undefined {
    return this.said[this.confirmedCount - 1];
  }

  get last(): Said | undefined {
    return this.said.at(-1);
  }

  /** Every state that may be in effect: the last confirmed one, and what was said after it. */
  get possible(): readonly Said[] {
    return this.said.slice(Math.max(0, this.confirmedCount - 1));
  }

  cancelOf(cancelRequestId: string): CancelAccount {
    const known = this.cancels.get(cancelRequestId);
    if (known !== undefined) return known;
    const cancel: CancelAccount = {
      connections: new Set(),
      said: undefined,
      isConfirmed: false,
    };
    this.cancels.set(cancelRequestId, cancel);
    return cancel;
  }
}
