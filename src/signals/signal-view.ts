/**
 * Defines the response views of signal requests, executions and cancels (section 3 of the contract): the
 * schemas, which the OpenAPI document includes, and the functions that map records to them.
 */
import Type, { type Static } from 'typebox';
import { toIsoTime, toIsoTimeOrNull } from '../lib/clock.js';
import {
  described,
  isoTime,
  isoTimeOrNull,
  listOf,
  numberOrNull,
  orNull,
  textOrNull,
} from '../lib/json-types.js';
import type { SignalRequest } from '../model/records.js';
import type { Cancellation } from '../model/cancellation.js';
import { isCompleted, type Execution } from '../model/execution.js';
import {
  cancelStatus,
  delivery,
  executionStatus,
  reasonCode,
  signalState,
} from './status-enums.js';

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
  status: cancelStatus,
  reasonCode: orNull(reasonCode),
  requestedAt: isoTime,
  updatedAt: isoTime,
});

export const executionSchema = Type.Object({
  executionId: Type.String(),
  platform: Type.String(),
  instanceId: textOrNull,
  accountName: textOrNull,
  status: executionStatus,
  reasonCode: orNull(reasonCode),
  delivery,
  orderRef: described(
    textOrNull,
    'Names the order in a cancel; null unless the signal submits an order.',
  ),
  side: textOrNull,
  executionType: textOrNull,
  instrument: textOrNull,
  quantity: described(numberOrNull, 'The quantity that was ordered.'),
  limitPrice: numberOrNull,
  filledQuantity: numberOrNull,
  remainingQuantity: numberOrNull,
  averageFillPrice: numberOrNull,
  fills: listOf(fillSchema),
  fillsTruncated: Type.Optional(
    Type.Literal(true, {
      description: 'Some fills are not listed; the quantities count all of them.',
    }),
  ),
  native: described(orNull(nativeSchema), 'The order as the terminal itself reports it.'),
  createdAt: isoTime,
  dispatchedAt: described(isoTimeOrNull, 'When the command was sent to the terminal.'),
  confirmedAt: described(isoTimeOrNull, 'When the terminal first reported on the command.'),
  updatedAt: isoTime,
  cancel: described(orNull(cancelSchema), 'The latest cancel.'),
});

export const signalSchema = Type.Object({
  requestId: Type.String(),
  signalId: Type.String(),
  status: signalState,
  acceptedAt: isoTime,
  expiresAt: described(isoTime, 'The signal is not sent to a terminal after this time.'),
  platform: Type.String(),
  type: Type.String(),
  cmd: Type.String(),
  instanceId: textOrNull,
  accountName: textOrNull,
  executions: described(
    listOf(executionSchema),
    'One for each terminal that the signal was routed to.',
  ),
});

export interface ShownExecution extends Execution {
  /** Whether it has fills that the answer has no room for; if absent, whether it lacks those with rows of their own. */
  readonly isCut?: boolean;
}

/** @param executions in the order of their index. */
export function toSignalView(
  request: SignalRequest,
  executions: readonly ShownExecution[],
): Static<typeof signalSchema> {
  return {
    requestId: request.requestId,
    signalId: request.signalId,
    status: isCompleted(executions) ? 'completed' : 'accepted',
    acceptedAt: toIsoTime(request.acceptedAt),
    expiresAt: toIsoTime(request.expiresAt),
    platform: request.platform,
    type: request.type,
    cmd: request.cmd,
    instanceId: request.instanceId,
    accountName: request.accountName ?? null,
    executions: executions.map(toExecutionView),
  };
}

export function toExecutionView(execution: ShownExecution): Static<typeof executionSchema> {
  const { unlistedFills, isCut = execution.fillRows !== undefined } = execution;
  const isTruncated = unlistedFills !== undefined || isCut;
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
    ...(isTruncated ? { fillsTruncated: true as const } : {}),
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
