/**
 * What a terminal has received and reported of one execution, and how much of it the gateway has
 * acknowledged as durable. The gateway's own view is compared with it.
 */
import type { ObservationOf } from './observation.js';

interface Sent {
  readonly status: string;
  readonly filledQuantity: number;
  /** Of all fills reported so far. */
  readonly fillIds: readonly string[];
  readonly seq: number;
}

export interface CancelRecord {
  /** Connections on which the cancel came. */
  readonly connections: Set<number>;
  /** The end that the terminal reported. */
  said: string | undefined;
  /** The gateway has confirmed an acknowledgement or a report of the cancel. */
  isConfirmed: boolean;
}

export class ExecutionRecord {
  /** The first submit; undefined when the terminal reported on an execution it never received. */
  submit: ObservationOf<'submit'> | undefined;
  /** Connections on which the submit came. */
  readonly connections = new Set<number>();
  /** Wall time at which the newest submit may have been written at the earliest. */
  lastSubmitAt = -Infinity;
  readonly said: Sent[] = [];
  /** Statuses from a hello: in effect only until a report arrives. */
  readonly hints = new Set<string>();
  readonly cancels = new Map<string, CancelRecord>();
  isAcknowledged = false;
  /** The gateway has confirmed an acknowledgement or a report of it. */
  isConfirmed = false;
  /** How many of `said`, from its beginning, the gateway has acknowledged. */
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
    const index = this.said.findLastIndex((said) => said.seq === seq);
    if (index < 0) return;
    this.confirmedCount = Math.max(this.confirmedCount, index + 1);
    this.isConfirmed = true;
  }

  /** The last report that is known to be in effect. */
  get confirmed(): Sent | undefined {
    return this.said[this.confirmedCount - 1];
  }

  get last(): Sent | undefined {
    return this.said.at(-1);
  }

  /** Every state that may be in effect: the last confirmed one and those reported after it. */
  get possible(): readonly Sent[] {
    return this.said.slice(Math.max(0, this.confirmedCount - 1));
  }

  cancelOf(cancelRequestId: string): CancelRecord {
    const known = this.cancels.get(cancelRequestId);
    if (known !== undefined) return known;
    const cancel: CancelRecord = {
      connections: new Set(),
      said: undefined,
      isConfirmed: false,
    };
    this.cancels.set(cancelRequestId, cancel);
    return cancel;
  }
}
