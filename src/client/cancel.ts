/** Defines the request to cancel an order, and its response. */
import { field, text } from './json-fields.js';

/** The default of `giveUpAfterMs`, also for a cancel of all orders. */
export const cancelGiveUpMs = 60_000;

/** A cancel that is ready to be sent, as plain JSON. Store it before you send it, to resume after a crash. */
export interface PreparedCancel {
  readonly idempotencyKey: string;
  readonly orderRef: string;
  /** Unix milliseconds. */
  readonly preparedAt: number;
}

/** The cancel is durable at the gateway. Its outcome is in the status of the original signal. */
export interface CancelAcceptance {
  readonly cancelRequestId: string;
  readonly orderRef: string;
  readonly executionId: string;
  readonly requestId: string;
  readonly signalId: string;
  readonly status: 'requested';
  /** ISO 8601 UTC. */
  readonly requestedAt: string;
  readonly idempotencyKey: string;
  /** True if an earlier attempt was accepted, and this is its stored response. */
  readonly replayed: boolean;
}

const fields = [
  'cancelRequestId',
  'orderRef',
  'executionId',
  'requestId',
  'signalId',
  'requestedAt',
] as const;

/** @returns undefined when the body is not that of an accepted cancel. */
export function readCancelAcceptance(
  body: unknown,
  idempotencyKey: string,
  replayed: boolean,
): CancelAcceptance | undefined {
  if (fields.some((name) => text(field(body, name)) === undefined)) return undefined;
  const accepted = body as Pick<CancelAcceptance, (typeof fields)[number]>;
  return { ...accepted, status: 'requested', idempotencyKey, replayed };
}
