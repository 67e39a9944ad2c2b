/**
 * The kinds of requests that the generator can send. A source belongs to one connection, which has
 * one request in flight, so it may give the same buffer again and again, patched in place: no
 * request costs an allocation.
 */
import type { Caller } from './load.js';
import { refused401, refused429, refused422 } from './workloads/refused.js';
import { login } from './workloads/login.js';
import { mixed } from './workloads/mixed.js';
import { status } from './workloads/status.js';
import { submit } from './workloads/submit.js';

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

export const workloads = {
  submit,
  status,
  mixed,
  login,
  'refused-401': refused401,
  'refused-429': refused429,
  'refused-422': refused422,
} as const satisfies Record<string, Workload>;

export type WorkloadName = keyof typeof workloads;
