/**
 * Makes the records and the answer of a signal that is accepted: its request and one execution for each target.
 * Stateless.
 */
import { toIsoTime } from '../lib/clock.js';
import { executionIdOf, orderRefOf } from '../lib/ids.js';
import type { Execution } from '../model/execution.js';
import type { SignalRequest, User } from '../model/records.js';
import type { Trail } from '../model/trail.js';
import type { CountOfDay } from '../quota/account-quota.js';
import { isOrder, type Envelope, type OrderTerms } from './envelope.js';
import type { Target } from './routing.js';

export interface SignalSubmission {
  readonly user: User;
  readonly idempotencyKey: string;
  readonly fingerprint: string;
  readonly envelope: Envelope;
  /** The payload's JSON text as the bot sent it. */
  readonly payload: string;
  readonly targets: readonly Target[];
  /** Whether the source's plugin is connected now, so that the submit frame can be sent after the flush. */
  readonly isConnected: (sourceKey: string) => boolean;
  /** Wall time in Unix ms. */
  readonly acceptedAt: number;
  readonly trail: Trail;
}

export interface Accepted {
  readonly request: SignalRequest;
  readonly executions: readonly Execution[];
  /** Body of the 202. */
  readonly answer: string;
}

/** Longest text of a payload that is copied to each execution: a long one would be stored for every target. */
export const copiedTextLengthMax = 64;

export function acceptedOf(
  submission: SignalSubmission,
  requestId: string,
  { signalsToday, undecidedFrom }: CountOfDay,
): Accepted {
  const { envelope, targets, trail, acceptedAt } = submission;
  const request: SignalRequest = {
    requestId,
    signalId: envelope.signalId,
    acceptedAt,
    ts: envelope.ts,
    expiresAt: envelope.ts + envelope.ttlMs,
    platform: envelope.platform,
    type: envelope.type,
    cmd: envelope.cmd,
    instanceId: envelope.instanceId ?? null,
    accountName: envelope.accountName,
    payload: submission.payload,
    idempotencyKey: submission.idempotencyKey,
    executionCount: targets.length,
    signalsToday,
    undecidedFrom,
    keyId: trail.keyId,
    traceId: trail.traceId,
    clientAddress: trail.clientAddress,
  };
  const order = orderTerms(envelope);
  const executions = targets.map((target, index): Execution => {
    const executionId = executionIdOf(requestId, index);
    return {
      executionId,
      requestId,
      signalId: envelope.signalId,
      platform: target.platform,
      instanceId: target.instanceId,
      accountName: target.accountName,
      status: target.deniedFor === null ? 'queued' : 'denied',
      reasonCode: target.deniedFor,
      delivery: 'not_sent',
      orderRef: order === undefined ? null : orderRefOf(executionId),
      side: order?.side ?? null,
      executionType: order?.executionType ?? null,
      instrument: order?.instrument ?? null,
      quantity: order?.quantity ?? null,
      limitPrice: order?.limitPrice ?? null,
      filledQuantity: order === undefined ? null : 0,
      remainingQuantity: order?.quantity ?? null,
      averageFillPrice: null,
      fills: [],
      native: null,
      createdAt: acceptedAt,
      dispatchedAt: null,
      confirmedAt: null,
      updatedAt: acceptedAt,
      cancel: null,
      keyId: trail.keyId,
      expiresAt: request.expiresAt,
      maySend: mayBeSent(submission, target),
    };
  });
  // Neither an id nor a time has a character that JSON escapes.
  const answer =
    `{"requestId":"${requestId}","signalId":${JSON.stringify(envelope.signalId)},` +
    `"status":"accepted","acceptedAt":"${toIsoTime(acceptedAt)}"}`;
  return { request, executions, answer };
}

function mayBeSent({ isConnected }: SignalSubmission, { deniedFor, sourceKey }: Target): boolean {
  return deniedFor === null && sourceKey !== undefined && isConnected(sourceKey);
}

/**
 * @returns the documented fields of an order-submit payload; null for a field that is absent, of another type or
 * too long.
 */
function orderTerms(envelope: Envelope) {
  if (!isOrder(envelope)) return undefined;
  const terms = envelope.payload as OrderTerms;
  const text = (value: unknown) =>
    typeof value === 'string' && value.length <= copiedTextLengthMax ? value : null;
  const number = (value: unknown) => (Number.isFinite(value) ? (value as number) : null);
  return {
    side: text(terms.side),
    executionType: text(terms.executionType),
    instrument: text(terms.instrument),
    quantity: number(terms.quantity),
    limitPrice: number(terms.limitPrice),
  };
}
