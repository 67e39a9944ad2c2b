/** `signalbox signal show`: one signal, from its submission to what the broker says. */
import type { Command } from 'commander';
import { executionIdFrom, executionIdFromCancel, requestIdOfExecution } from '../lib/ids.js';
import { columns } from '../lib/columns.js';
import type { Execution } from '../model/execution.js';
import type { ShownExecution } from '../signals/signal-view.js';
import { describeCommand, withSettings } from './command.js';
import type { Io } from './io.js';
import { operate } from './operate.js';
import { toOperatorView } from './signal-text.js';

export function signalShowCommand(io: Io): Command {
  return describeCommand({
    usage: 'show <ID>',
    summary: 'show one signal, with its user and its outcome',
    description:
      'Shows a signal: its user, the API key, address and trace id of its submission and of its ' +
      'cancels, its payload, and each execution. ID is its requestId, or an executionId, orderRef or ' +
      'cancelRequestId of it. The trace id is also in the log.',
    examples: [
      'signalbox signal show req_01J9ZQ5W6S8Y2T4V6X8Z0B2D4F',
      'signalbox signal show ord_01J9ZQ5W6S8Y2T4V6X8Z0B2D4F_0 --json',
    ],
  }).action(
    withSettings(io, (settings, id: string) => {
      const request = { requestId: requestIdFrom(id.trim()) };
      return operate(io, settings, 'signal.show', request, (found, received) => {
        const { email, userId } = found;
        const view = toOperatorView(found.request, { email, userId }, received as ShownExecution[]);
        return { ok: true, json: view, text: columns(rowsOf(view)) };
      });
    }),
  );
}

function requestIdFrom(id: string): string {
  const executionId = executionIdFrom(id) ?? executionIdFromCancel(id);
  return executionId === undefined ? id : requestIdOfExecution(executionId);
}

type View = ReturnType<typeof toOperatorView>;

function rowsOf(view: View): string[][] {
  return [
    ['request', view.requestId],
    ['user', `${view.email} (${view.userId})`],
    ...trailRows('', view),
    ['signal', view.signalId],
    ['accepted', view.acceptedAt],
    ['command', `${view.type}/${view.cmd} for ${view.platform}`],
    ['payload', view.payload],
    ['status', view.status],
    ...view.executions.flatMap(executionRows),
  ];
}

function executionRows(execution: View['executions'][number]): string[][] {
  const { status, reasonCode, cancel, native } = execution;
  const account = [execution.platform, execution.instanceId, execution.accountName];
  return [
    ['', ''],
    ['execution', execution.executionId],
    ['  order', execution.orderRef ?? 'none'],
    ['  terminal', account.map((part) => part ?? '-').join(', ')],
    ['  status', reasonCode === null ? status : `${status}: ${reasonCode}`],
    ['  delivery', execution.delivery],
    ['  filled', `${execution.filledQuantity ?? '-'} of ${execution.quantity ?? '-'}`],
    ...(native === null ? [] : [['  at broker', nativeText(native)]]),
    ...(cancel === null
      ? []
      : [
          [
            '  cancel',
            `${cancel.cancelRequestId}: ${cancel.status}, requested ${cancel.requestedAt}`,
          ],
          ...trailRows('    ', cancel),
        ]),
  ];
}

function nativeText({ orderId, state, code, text }: NonNullable<Execution['native']>): string {
  return [orderId, state, code, text].filter((part) => part !== null).join(', ');
}

function trailRows(
  indent: string,
  trail: { keyId: number | null; clientAddress: string | null; traceId: string | null },
): string[][] {
  return [
    [`${indent}key`, `${trail.keyId ?? 'not known'}`],
    [`${indent}address`, trail.clientAddress ?? 'not known'],
    [`${indent}trace id`, trail.traceId ?? 'not known'],
  ];
}
