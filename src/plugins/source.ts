/** A terminal account of a user, and the plugin connection that speaks for it. */
import type { Capability, SourceRecord } from '../model/records.js';
import type { ActiveSource } from '../signals/routing.js';
import type { Stored } from '../store/write-queue.js';
import type { CloseReason, GatewayFrame } from './protocol.js';

export interface Source extends ActiveSource, Stored {
  readonly userId: string;
  readonly key: string;
  capabilities: readonly Capability[];
  software: SourceRecord['software'];
  /** Highest `seq` received; on disk before the frame is acknowledged. */
  lastSeq: number;
  /** Highest `seq` that is on disk. */
  durableSeq: number;
  /** Wall time in Unix ms. */
  lastSeenAt: number;
  /** The same moment on the monotonic clock. */
  lastSeen: number;
  connection: SourceConnection | undefined;
}

/** A plugin's connection, as far as those need it who send to its terminal. */
export interface SourceConnection {
  readonly connectionId: string;
  readonly isClosed: boolean;
  /** So much waits for the plugin to read it that a backlog should pause. */
  readonly isCongested: boolean;
  /** @returns false when the socket did not take the frame; the connection is then closing. */
  send(frame: GatewayFrame): boolean;
  /** As `send`, for a frame that is already JSON text. */
  sendText(text: string): boolean;
  /** Acknowledges up to `seq`. One frame covers all calls of a turn. */
  acknowledge(seq: number): void;
  close(reason: CloseReason): void;
}
