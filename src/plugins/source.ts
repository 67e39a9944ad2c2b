/** Defines a source: a terminal account of a user, with its plugin connection. */
import type { Capability, SourceRecord } from '../model/records.js';
import type { ActiveSource } from '../signals/routing.js';
import type { Writer } from '../store/store.js';
import type { Stored } from '../store/write-queue.js';
import type { UserBudget } from './budget.js';
import type { FrameDigests } from './frame-digests.js';
import type { CloseReason, GatewayFrame } from './protocol.js';

export interface Source extends ActiveSource, Stored {
  readonly userId: string;
  capabilities: readonly Capability[];
  software: SourceRecord['software'];
  /** Highest `seq` received on any connection. */
  lastSeq: number;
  /** Highest durable `seq` of the latest connection. */
  durableSeq: number;
  /** The latest connection's; a `seq` of an earlier connection that becomes durable now does not count. */
  numbers: Numbers;
  /** Digests of the frames that are received and not durable yet, to tell a repetition from another frame. */
  readonly received: FrameDigests;
  /** Wall time in Unix ms. */
  lastSeenAt: number;
  /** The same time on the monotonic clock, in ms. */
  lastSeen: number;
  connection: SourceConnection | undefined;
}

/**
 * The `seq`s of one connection. A plugin without a journal counts on from its welcome, and so may give the
 * `seq`s of an earlier connection to other frames.
 */
export interface Numbers {
  /** `lastSeq` of its welcome. */
  readonly welcomed: number;
  /** Highest `seq` that came on the connection or was in its welcome. */
  handled: number;
  /** Digests of frames that were received before the welcome and were not durable then, by `seq`. */
  readonly uncounted: ReadonlyMap<number, string>;
}

export function numbersAfter(
  welcomed: number,
  uncounted: ReadonlyMap<number, string> = new Map(),
): Numbers {
  return { welcomed, handled: welcomed, uncounted };
}

/** The part of a plugin connection that senders need. */
export interface SourceConnection {
  readonly connectionId: string;
  readonly isClosed: boolean;
  /** Backpressure: while true, a backlog should pause. */
  readonly isCongested: boolean;
  /** The budget of its user. */
  readonly budget: Pick<UserBudget, 'reportsWaiting'>;
  numbers: Numbers;
  /** Counts fills that are read for a report against the budget. @returns false when the connection is closed for that. */
  spendFills(fills: number): boolean;
  /** @returns false when the send buffer is full or the connection closed. */
  send(frame: GatewayFrame): boolean;
  /** As `send`, for a frame that is already JSON text. */
  sendText(text: string): boolean;
  /** Acknowledges all frames up to `seq`. Calls of the same turn share one frame. */
  acknowledge(seq: number): void;
  close(reason: CloseReason): void;
}

export function putSource(batch: Writer, source: Source): void {
  const { platform, instanceId, accountName } = source;
  batch.put('sources', [source.userId, platform, instanceId, accountName], {
    platform,
    instanceId,
    accountName,
    capabilities: source.capabilities,
    software: source.software,
    lastSeq: source.numbers.handled,
    lastSeenAt: source.lastSeenAt,
  });
}

export function removeSource(batch: Writer, source: Source): void {
  const { userId, platform, instanceId, accountName } = source;
  batch.remove('sources', [userId, platform, instanceId, accountName]);
}
