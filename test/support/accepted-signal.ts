/** An accepted signal with one execution, as the gateway writes it; every field can be replaced. */
import { executionIdOf, firstRequestIdAt, orderRefOf } from '../../src/lib/ids.js';
import type { Execution } from '../../src/model/execution.js';
import type { IdempotencyRecord, SignalRequest } from '../../src/model/records.js';
import type { Writer } from '../../src/store/store.js';

export interface AcceptedSignal {
  readonly userId: string;
  readonly request: SignalRequest;
  readonly execution: Execution;
  readonly idempotency: IdempotencyRecord;
}

export interface AcceptedSignalFields {
  readonly userId: string;
  readonly acceptedAt?: number;
  readonly signalId?: string;
  readonly idempotencyKey?: string;
  readonly payload?: string;
  readonly idempotencyExpiresAt?: number;
}

export function acceptedSignal(fields: AcceptedSignalFields): AcceptedSignal {
  const acceptedAt = fields.acceptedAt ?? Date.UTC(2026, 0, 15, 12);
  const requestId = firstRequestIdAt(acceptedAt);
  const signalId = fields.signalId ?? `signal at ${acceptedAt}`;
  const executionId = executionIdOf(requestId, 0);
  const common = { requestId, signalId, platform: 'terminal_a', expiresAt: acceptedAt + 300_000 };
  return {
    userId: fields.userId,
    request: {
      ...common,
      acceptedAt,
      ts: acceptedAt,
      type: 'order',
      cmd: 'submit',
      instanceId: null,
      payload: fields.payload ?? '{"instrument":"ES","side":"buy","quantity":1}',
      idempotencyKey: fields.idempotencyKey ?? `key at ${acceptedAt}`,
      executionCount: 1,
      signalsToday: 1,
    },
    execution: {
      ...common,
      executionId,
      instanceId: 'desk-1',
      accountName: 'Sim101',
      status: 'queued',
      reasonCode: null,
      delivery: 'not_sent',
      orderRef: orderRefOf(executionId),
      side: 'buy',
      executionType: 'market',
      instrument: 'ES',
      quantity: 1,
      limitPrice: null,
      filledQuantity: null,
      remainingQuantity: null,
      averageFillPrice: null,
      fills: [],
      native: null,
      createdAt: acceptedAt,
      dispatchedAt: null,
      confirmedAt: null,
      updatedAt: acceptedAt,
      cancel: null,
      cancelKeys: [],
      maySend: false,
    },
    idempotency: {
      fingerprint: 'a fingerprint',
      requestId,
      answer: '{"status":"accepted"}',
      expiresAt: fields.idempotencyExpiresAt ?? acceptedAt + 86_400_000,
    },
  };
}

/** Puts all of it, the execution where its state belongs. */
export function putSignal(batch: Writer, signal: AcceptedSignal, finalAt?: number): void {
  const { userId, request, execution, idempotency } = signal;
  batch.put('requests', [userId, request.requestId], request);
  batch.put('signalIds', [userId, request.signalId], request.requestId);
  batch.put('idempotency', [userId, request.idempotencyKey], idempotency);
  if (finalAt === undefined) {
    batch.put('openExecutions', [userId, execution.executionId], execution);
  } else {
    batch.put('finalExecutions', [userId, execution.executionId], {
      ...execution,
      status: 'filled',
      updatedAt: finalAt,
    });
  }
}
