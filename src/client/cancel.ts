/** The cancel of one order on its way to the gateway, and the gateway's answer. */
import { field, text } from './json-fields.js';

/** A cancel ready to be sent, as plain JSON: store it first, and a crash cannot lose track of it. */
export interface PreparedCancel {
  readonly idempotencyKey: string;
  readonly orderRef: string;
  /** Unix milliseconds. */
  readonly preparedAt: number;
}

/** The gateway has the cancel on disk. What becomes of it is in the status of the original signal. */
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
  /** An earlier attempt had been accepted: this is its answer again. */
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

/** @returns undefined when the answer is not the body of an accepted cancel. */
export function readCancelAcceptance(
  body: unknown,
  idempotencyKey: string,
  replayed: boolean,
): CancelAcceptance | undefined {
  if (fields.some((name) => text(field(body, name)) === undefined)) return undefined;
  const told = body as Pick<CancelAcceptance, (typeof fields)[number]>;
  return { ...told, status: 'requested', idempotencyKey, replayed };
}
