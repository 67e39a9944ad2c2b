/**
 * One kind of requests. A source belongs to one connection, which has one request in flight, so it may return
 * the same buffer each time, patched in place: no request costs an allocation.
 */

/** A sender of requests; a load goes round all of its callers in their order. */
export interface Caller {
  readonly key: string;
  /** A request of the same user, for workloads that read. */
  readonly requestId?: string;
  /** Of the user, for workloads that log in. */
  readonly email?: string;
}

export interface RequestSource {
  /** The bytes of the request with this number; numbers count up over all connections. */
  next(sequence: number): Uint8Array;
}

export interface Workload {
  /** The statuses that answers should have. */
  readonly expected: readonly number[];
  /** @param run a text of 8 characters that no other run of a generator has. */
  source(callers: readonly Caller[], run: string): RequestSource;
}
