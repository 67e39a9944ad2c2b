/**
 * Defines the response views of signal requests, executions and cancels (section 3 of the contract): the
 * schemas, which the OpenAPI document includes, and the functions that map records to them.
 */
import Type, { type Static } from 'typebox';
import { toIsoTime, toIsoTimeOrNull } from '../lib/clock.js';
import {
  isoTime,
  isoTimeOrNull,
  listOf,
  numberOrNull,
  oneOf,
  orNull,
  textOrNull,
} from '../lib/json-types.js';
import type { SignalRequest } from '../model/records.js';
import { cancelStates, type Cancellation, type CancelStatus } from '../model/cancellation.js';
import {
  deliveries,
  executionStates,
  isFinal,
  type Execution,
  type ExecutionStatus,
} from '../model/execution.js';
import { reasonCodes } from '../model/reason-codes.js';

const reasonCode = orNull(oneOf(reasonCodes));

export const fillSchema = Type.Object({
  fillId: Type.String(),
  price: Type.Number(),
  quantity: Type.Number(),
  filledAt: isoTime,
});

/** The order's state as the terminal reports it. */
export const nativeSchema = Type.Object({
  orderId: textOrNull,
  state: textOrNull,
  code: Type.Unsafe<string | number | null>({
    anyOf: [{ type: 'string' }, { type: 'number' }, { type: 'null' }],
  }),
  text: textOrNull,
});

export const cancelSchema = Type.Object({
  cancelRequestId: Type.String(),
  status: oneOf(Object.keys(cancelStates) as CancelStatus[]),
  reasonCode,
  requestedAt: isoTime,
  updatedAt: isoTime,
});

export const executionSchema = Type.Object({
  executionId: Type.String(),
  platform: Type.String(),
  instanceId: textOrNull,
  accountName: textOrNull,
  status: oneOf(Object.keys(executionStates) as ExecutionStatus[]),
  reasonCode,
  delivery: oneOf(deliveries),
  orderRef: textOrNull,
  side: textOrNull,
  executionType: textOrNull,
  instrument: textOrNull,
  quantity: numberOrNull,
  limitPrice: numberOrNull,
  filledQuantity: numberOrNull,
  remainingQuantity: numberOrNull,
  averageFillPrice: numberOrNull,
  fills: listOf(fillSchema),
  native: orNull(nativeSchema),
  createdAt: isoTime,
  dispatchedAt: isoTimeOrNull,
  confirmedAt: isoTimeOrNull,
  updatedAt: isoTime,
  cancel: orNull(cancelSchema),
});

export const signalSchema = Type.Object({
  requestId: Type.String(),
  signalId: Type.String(),
  status: oneOf(['accepted', 'completed']),
  acceptedAt: isoTime,
  expiresAt: isoTime,
  platform: Type.String(),
  type: Type.String(),
  cmd: Type.String(),
  instanceId: textOrNull,
  executions: listOf(executionSchema),
});

/** @param executions in the order of their index. */
export function toSignalView(
  request: SignalRequest,
  executions: readonly Execution[],
): Static<typeof signalSchema> {
  return {
    requestId: request.requestId,
    signalId: request.signalId,
    status: executions.every(({ status }) => isFinal(status)) ? 'completed' : 'accepted',
    acceptedAt: toIsoTime(request.acceptedAt),
    expiresAt: toIsoTime(request.expiresAt),
    platform: request.platform,
    type: request.type,
    cmd: request.cmd,
    instanceId: request.instanceId,
    executions: executions.map(toExecutionView),
  };
}

export function toExecutionView(execution: Execution): Static<typeof executionSchema> {
  return {
    executionId: execution.executionId,
    platform: execution.platform,
    instanceId: execution.instanceId,
    accountName: execution.accountName,
    status: execution.status,
    reasonCode: execution.reasonCode,
    delivery: execution.delivery,
    orderRef: execution.orderRef,
    side: execution.side,
    executionType: execution.executionType,
    instrument: execution.instrument,
    quantity: execution.quantity,
    limitPrice: execution.limitPrice,
    filledQuantity: execution.filledQuantity,
    remainingQuantity: execution.remainingQuantity,
    averageFillPrice: execution.averageFillPrice,
    fills: execution.fills,
    native: execution.native,
    createdAt: toIsoTime(execution.createdAt),
    dispatchedAt: toIsoTimeOrNull(execution.dispatchedAt),
    confirmedAt: toIsoTimeOrNull(execution.confirmedAt),
    updatedAt: toIsoTime(execution.updatedAt),
    cancel: execution.cancel === null ? null : toCancelView(execution.cancel),
  };
}

export function toCancelView(cancel: Cancellation): Static<typeof cancelSchema> {
  return {
    cancelRequestId: cancel.cancelRequestId,
    status: cancel.status,
    reasonCode: cancel.reasonCode,
    requestedAt: toIsoTime(cancel.requestedAt),
    updatedAt: toIsoTime(cancel.updatedAt),
  };
}
