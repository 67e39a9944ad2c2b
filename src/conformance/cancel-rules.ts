/** What a plugin does with cancels, if it has the capability. */
import { cancelRequestIdOf, orderRefOf } from '../lib/ids.js';
import type { CancelFrame } from '../plugins/protocol.js';
import { execute } from './command-rules.js';
import type { Desk, Report } from './desk.js';
import { demand, type Rule } from './rule.js';

export const cancelRules = {
  rests: {
    says: 'reports a limit order that rests as working',
    place: 'PROTOCOL.md#statuses',
    async check(desk) {
      const { status } = await restingOrder(desk, ({ status }) => status !== 'submitted');
      demand(status === 'working', `The limit order was reported as ${status}.`);
    },
  },
  cancel: {
    says: 'acknowledges a cancel, and reports that it has cancelled the order',
    place: 'PROTOCOL.md#cancel_report',
    capability: 'cancel',
    async check(desk) {
      const { executionId } = await restingOrder(desk);
      const from = desk.mark;
      const cancel = await sendCancel(desk, executionId);
      await desk.ackOf(cancel.cancelRequestId, from);
      await demandOutcome(desk, cancel, from, ['cancelled']);
      demand(desk.fillsOf(executionId).length === 0, 'It was filled.');
    },
  },
  cancel_repeated: {
    says: 'acknowledges and reports a repeated cancel again',
    place: 'PROTOCOL.md#commands',
    capability: 'cancel',
    async check(desk) {
      const { executionId } = await restingOrder(desk);
      const cancel = await sendCancel(desk, executionId);
      await desk.cancelReportOf(cancel.cancelRequestId, 0);
      const from = desk.mark;
      (await desk.session()).send(cancel);
      await desk.ackOf(cancel.cancelRequestId, from);
      await demandOutcome(desk, cancel, from, ['cancelled']);
    },
  },
  cancel_cut: {
    says: 'carries out a cancel that was cut off and sent again',
    place: 'PROTOCOL.md#commands',
    capability: 'cancel',
    async check(desk) {
      const { executionId } = await restingOrder(desk);
      const from = desk.mark;
      const session = await desk.session();
      session.acknowledges = false;
      const cancel = await sendCancel(desk, executionId);
      await session.cut();
      (await desk.session()).send(cancel);
      await desk.ackOf(cancel.cancelRequestId, from);
      await demandOutcome(desk, cancel, from, ['cancelled']);
    },
  },
  cancel_too_late: {
    says: 'reports that a cancel of a filled order is too late',
    place: 'PROTOCOL.md#cancel_report',
    capability: 'cancel',
    async check(desk) {
      const { executionId } = await execute(desk);
      const from = desk.mark;
      const cancel = await sendCancel(desk, executionId);
      await demandOutcome(desk, cancel, from, ['too_late', 'rejected']);
    },
  },
  cancel_unknown: {
    says: 'rejects a cancel of an order that it does not have',
    place: 'PROTOCOL.md#commands',
    capability: 'cancel',
    async check(desk) {
      const from = desk.mark;
      const cancel = await sendCancel(desk, desk.orders.command().executionId);
      await desk.ackOf(cancel.cancelRequestId, from);
      await demandOutcome(desk, cancel, from, ['rejected'], 'order_unknown_at_terminal');
    },
  },
} as const satisfies Record<string, Rule>;

/** Sends a limit order far from the market, and waits for a report on it. */
async function restingOrder(
  desk: Desk,
  matches: (report: Report) => boolean = () => true,
): Promise<Report> {
  const session = await desk.session();
  const command = desk.orders.command({ payload: desk.orders.resting });
  const from = desk.mark;
  session.send(command);
  return desk.reportOf(command.executionId, from, 'a report', matches);
}

async function sendCancel(desk: Desk, executionId: string): Promise<CancelFrame> {
  const cancel: CancelFrame = {
    type: 'cancel',
    cancelRequestId: cancelRequestIdOf(executionId, 1),
    executionId,
    orderRef: orderRefOf(executionId),
  };
  const session = await desk.session();
  session.send(cancel);
  return cancel;
}

async function demandOutcome(
  desk: Desk,
  { cancelRequestId }: CancelFrame,
  from: number,
  wanted: readonly string[],
  reason?: string,
): Promise<void> {
  const { status, reasonCode } = await desk.cancelReportOf(cancelRequestId, from);
  demand(
    wanted.includes(status),
    `The outcome of the cancel was ${status} instead of ${wanted.join(' or ')}.`,
  );
  demand(
    reason === undefined || reasonCode === reason,
    `The reason of the cancel was ${reasonCode}.`,
  );
}
