/** For each rule, a fault that breaks only this rule. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../../src/lib/clock.js';
import type { RuleName } from '../../src/conformance/judge.js';
import type { AnyFrame, Tampering } from './crooked-wire.js';

export interface Fault extends Tampering {
  /** For the jitter of the plugin's reconnects. */
  readonly random?: () => number;
}

/** Replaces fields by `changes` in reports and cancel reports that have `fields`. */
function saying(fields: object, changes: object): Fault {
  const isMeant = (frame: AnyFrame): boolean =>
    /report$/.test(frame.type) &&
    Object.entries(fields).every(([field, value]) => frame[field] === value);
  return { fromPlugin: (frame) => (isMeant(frame) ? { ...frame, ...changes } : frame) };
}

/** Loses frames of the gateway that repeat an earlier one, where `isLost` says so. */
function losingRepeated(type: string, id: string, isLost: (sameConnection: boolean) => boolean) {
  const seen = new Map<string, number>();
  return {
    fromGateway(frame: AnyFrame, connection: number) {
      if (frame.type !== type) return frame;
      const before = seen.get(frame[id]);
      seen.set(frame[id], connection);
      return before !== undefined && isLost(before === connection) ? undefined : frame;
    },
  };
}

function reason(from: string, to: string): Fault {
  return saying({ reasonCode: from }, { reasonCode: to });
}

export const faults: Readonly<Record<RuleName, (clock: Clock) => Fault>> = {
  subprotocol: () => ({ offersNoSubprotocol: true }),
  hello: () => ({
    fromPlugin: (frame) =>
      frame.type === 'hello' ? { ...frame, capabilities: ['cancel'] } : frame,
  }),
  waits_for_welcome: () => ({
    fromPlugin: (frame) => (frame.type === 'hello' ? [frame, { type: 'heartbeat' }] : frame),
  }),
  backoff: () => {
    let lastStatus = 0;
    return {
      random: () => (lastStatus === 429 ? 0.5 : -3.9),
      refusal: (status, retryAfter) => [(lastStatus = status), retryAfter],
    };
  },
  retry_after: () => ({ refusal: (status) => [status, ''] }),
  draining: () => ({ closeCode: (code) => (code === 4001 ? 4501 : code) }),
  late_hello: () => ({ closeCode: (code) => (code === 4502 ? 4501 : code) }),
  heartbeat: () => ({
    fromPlugin: (frame) => (frame.type === 'heartbeat' ? undefined : frame),
  }),
  pong: () => ({ answersNoPing: true }),
  unknown_frame: () => ({
    fromGateway: (frame) => (frame.type === 'weather' ? 'cut' : frame),
  }),
  unknown_fields: () => ({
    fromGateway: (frame) => ('priority' in frame ? undefined : frame),
  }),
  error_frame: () => ({ fromGateway: (frame) => (frame.type === 'error' ? 'cut' : frame) }),
  large_frame: () => ({
    fromGateway: (frame) => (JSON.stringify(frame).length > 100_000 ? undefined : frame),
  }),
  ack_first: () => {
    const held = new Map<string, AnyFrame>();
    return {
      fromPlugin(frame) {
        if (frame.type === 'ack' && 'executionId' in frame) {
          held.set(frame['executionId'], frame);
          return undefined;
        }
        if (frame.type !== 'report') return frame;
        const ack = held.get(frame['executionId']);
        held.delete(frame['executionId']);
        return ack === undefined ? frame : [frame, ack];
      },
    };
  },
  fill: () => saying({ status: 'filled' }, { filledQuantity: 7 }),
  unknown_command: () => reason('unknown_command', 'invalid_field'),
  unknown_field: () => saying({ reasonCode: 'invalid_field' }, { native: { text: 'No.' } }),
  missing_limit_price: () => reason('missing_limit_price', 'missing_field'),
  invalid_quantity: () => reason('invalid_quantity', 'invalid_price'),
  expired: () =>
    withExpiry((expiresAt, serverNow) => (expiresAt < serverNow ? serverNow + 600_000 : expiresAt)),
  slow_welcome: (clock) =>
    withExpiry((expiresAt) => {
      const lateMs = clock.now() - expiresAt;
      return lateMs > 0 && lateMs < 600_000 ? expiresAt + 1_200_000 : expiresAt;
    }),
  gateway_clock: (clock) => withExpiry((expiresAt) => (expiresAt < clock.now() ? 0 : expiresAt)),
  snapshot: () => ({
    fromPlugin: (frame) => {
      if (frame['data']?.snapshotId === undefined) return frame;
      return { ...frame, data: { ...frame['data'], snapshotId: 'snp_other' } };
    },
  }),
  rests: () => saying({ status: 'working' }, { status: 'partially_filled' }),
  cancel: () => {
    let count = 0;
    return {
      fromPlugin: (frame) =>
        frame.type === 'cancel_report' && count++ === 0 ? { ...frame, status: 'rejected' } : frame,
    };
  },
  cancel_repeated: () => losingRepeated('cancel', 'cancelRequestId', (isSame) => isSame),
  cancel_cut: () => losingRepeated('cancel', 'cancelRequestId', (isSame) => !isSame),
  cancel_too_late: () => saying({ status: 'too_late' }, { status: 'cancelled' }),
  cancel_unknown: () => reason('order_unknown_at_terminal', 'unable_to_cancel'),
  submit_repeated: () => losingRepeated('submit', 'executionId', (isSame) => isSame),
  cut_before_ack: () => losingRepeated('submit', 'executionId', (isSame) => !isSame),
  cut_after_ack: () => {
    const begun = new Map<string, 'acknowledged' | 'told'>();
    /** executionId → the connection on which its fill was lost. */
    const since = new Map<string, number>();
    return {
      async fromPlugin(frame, connection, isOpen) {
        const { type, executionId } = frame;
        if (type === 'ack' && isOpen())
          begun.set(executionId, begun.get(executionId) ?? 'acknowledged');
        if (frame['status'] !== 'filled' || begun.get(executionId) !== 'acknowledged') return frame;
        // Waits until after the cut, if there is one: then the fill of that command is never reported.
        await sleep(100);
        if (isOpen() && connection === (since.get(executionId) ?? connection)) {
          begun.set(executionId, 'told');
          return frame;
        }
        since.set(executionId, connection);
        return undefined;
      },
    };
  },
  report_kept: () => {
    const told = new Map<number, number>();
    return {
      fromPlugin(frame, connection) {
        if (frame['status'] !== 'filled') return frame;
        const before = told.get(frame['seq']) ?? connection;
        told.set(frame['seq'], connection);
        return before === connection ? frame : undefined;
      },
    };
  },
  acknowledged_ends: () => {
    let last: AnyFrame | undefined;
    return {
      fromPlugin: (frame) => ('seq' in frame ? (last = frame) : frame),
      afterWelcome: ({ lastSeq }) =>
        last !== undefined && last['seq'] <= lastSeq ? last : undefined,
    };
  },
  last_seq: () => {
    let highest = 0;
    return {
      fromPlugin(frame) {
        highest = Math.max(highest, frame['seq'] ?? 0);
        return frame;
      },
      fromGateway: (frame) =>
        frame.type === 'welcome'
          ? { ...frame, lastSeq: Math.min(frame['lastSeq'], highest) }
          : frame,
    };
  },
  backlog: () => {
    let count = 0;
    return {
      fromPlugin: (frame) =>
        frame['reasonCode'] === 'unknown_command' && ++count === 300 ? undefined : frame,
    };
  },
  frames: () => ({
    fromPlugin: (frame) => (frame.type === 'hello' ? [frame, { type: 'gossip' }] : frame),
  }),
  seq_increases: () => ({
    fromPlugin: (frame) => (frame['event'] === 'connection_status' ? [frame, frame] : frame),
  }),
  unauthorized: () => ({
    refusal: (status, retryAfter) => [status === 401 ? 503 : status, retryAfter],
  }),
  revoked: () => ({ closeCode: (code) => (code === 4503 ? 0 : code) }),
  replaced: () => ({ closeCode: (code) => (code === 4501 ? 0 : code) }),
};

/** `change`: Unix milliseconds in, and out. */
function withExpiry(change: (expiresAt: number, serverNow: number) => number): Fault {
  let serverNow = 0;
  return {
    fromGateway(frame) {
      if (frame.type === 'welcome') serverNow = Date.parse(frame['serverTime']);
      if (frame.type !== 'submit') return frame;
      const expiresAt = change(Date.parse(frame['expiresAt']), serverNow);
      return { ...frame, expiresAt: new Date(expiresAt).toISOString() };
    },
  };
}
