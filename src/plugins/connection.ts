/**
 * One plugin's connection, from its upgrade to its close: waits for `hello`, hands every frame to
 * where it belongs, counts bad ones, watches for silence, and ends with a code that says whether to
 * come back. Knows nothing of the native socket.
 */
import type { Clock } from '../lib/clock.js';
import type { Counter, CounterSet } from '../lib/instruments.js';
import type { Limits } from '../limits.js';
import type { Deadline, Deadlines } from '../lib/deadlines.js';
import {
  badFramesMax,
  closeCodes,
  decodeFrame,
  frameErrors,
  helloTimeoutMs,
  type CloseReason,
  type ConnectionEnd,
  type DecodedFrame,
  type FrameErrorCode,
  type GatewayFrame,
  type PluginFrame,
  type PluginFrameOf,
} from './protocol.js';
import type { Source } from './registry.js';

/** What the connection needs of a socket. */
export interface PluginSocket {
  /** @returns false when the frame was not taken: the plugin reads too slowly. */
  send(text: string): boolean;
  /** So much waits for the plugin to read it that what can wait should; `drained` follows. */
  isCongested(): boolean;
  close(code: number, reason: string): void;
}

/** By what right the connection is open. */
export interface ConnectionSession {
  readonly userId: string;
  /** Hash of the session token; never the token. */
  readonly hash: string;
  /** Wall time in Unix ms. */
  readonly expiresAt: number;
}

export interface ConnectionDeps {
  readonly clock: Clock;
  readonly deadlines: Deadlines;
  readonly limits: Limits;
  readonly framesRejected: Counter;
  readonly connectionsClosed: CounterSet<ConnectionEnd>;
  readonly onOpen: (connection: Connection) => void;
  /** @returns the source that the connection now speaks for, or why the hello is refused. */
  readonly onHello: (
    connection: Connection,
    hello: PluginFrameOf<'hello'>,
  ) => Source | FrameErrorCode;
  /** @returns why the frame is refused, if it is. */
  readonly onFrame: (
    connection: Connection,
    source: Source,
    frame: Exclude<PluginFrame, { type: 'hello' }>,
  ) => FrameErrorCode | undefined;
  /** The socket has taken some of what waited. */
  readonly onDrained: (connection: Connection) => void;
  readonly onClosed: (connection: Connection) => void;
}

const notText: DecodedFrame = { error: 'not_text' };

export class Connection {
  source: Source | undefined;
  /** The backlog is still on its way out: what is accepted now must queue behind it. */
  isCatchingUp = false;
  /** What was taken in is on disk, and its acknowledgement is about to leave. */
  owesAck = false;
  /** The rest of the backlog waits until the plugin has read some of it. */
  awaitsDrain = false;
  readonly #deps: ConnectionDeps;
  readonly #socket: PluginSocket;
  #isClosed = false;
  #badFrames = 0;
  #watch: Deadline;
  readonly #sessionEnd: Deadline;

  constructor(
    readonly connectionId: string,
    readonly session: ConnectionSession,
    socket: PluginSocket,
    deps: ConnectionDeps,
  ) {
    this.#deps = deps;
    this.#socket = socket;
    this.#watch = deps.deadlines.after(helloTimeoutMs, () => this.close('bad_protocol'));
    this.#sessionEnd = deps.deadlines.after(session.expiresAt - deps.clock.now(), () =>
      this.close('session_revoked'),
    );
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** The bytes are valid only during the call. */
  receive(bytes: ArrayBuffer, isBinary: boolean): void {
    const { frame, error } = isBinary ? notText : decodeFrame(bytes);
    if (frame === undefined) {
      this.#refuse(error);
      return;
    }
    const refusal = frame.type === 'hello' ? this.#greet(frame) : this.#pass(frame);
    if (refusal !== undefined) this.#refuse(refusal);
  }

  /** @returns false when it could not be handed to the socket; the connection is then closing. */
  send(frame: GatewayFrame): boolean {
    return this.sendText(JSON.stringify(frame));
  }

  /** As `send`, for a frame that is already JSON text. */
  sendText(text: string): boolean {
    if (this.#isClosed) return false;
    if (this.#socket.send(text)) return true;
    this.close('too_slow');
    return false;
  }

  get isCongested(): boolean {
    return this.#socket.isCongested();
  }

  drained(): void {
    if (!this.#isClosed) this.#deps.onDrained(this);
  }

  close(reason: CloseReason): void {
    if (this.#isClosed) return;
    this.#end(reason);
    this.#socket.close(closeCodes[reason], reason);
  }

  /** The socket is gone. */
  closed(): void {
    if (!this.#isClosed) this.#end('terminal_left');
  }

  #end(reason: ConnectionEnd): void {
    this.#isClosed = true;
    this.#deps.connectionsClosed.add(reason);
    this.#deps.deadlines.remove(this.#watch);
    this.#deps.deadlines.remove(this.#sessionEnd);
    this.#deps.onClosed(this);
  }

  #greet(hello: PluginFrameOf<'hello'>): FrameErrorCode | undefined {
    if (this.source !== undefined) return 'hello_repeated';
    const source = this.#deps.onHello(this, hello);
    if (typeof source === 'string') return source;
    this.#deps.deadlines.remove(this.#watch);
    // It may have been too slow for its own welcome.
    if (!this.#isClosed) this.#watchSilence(source);
    return undefined;
  }

  #pass(frame: Exclude<PluginFrame, { type: 'hello' }>): FrameErrorCode | undefined {
    if (this.source === undefined) return 'hello_expected';
    return this.#deps.onFrame(this, this.source, frame);
  }

  #refuse(code: FrameErrorCode): void {
    this.#deps.framesRejected.add();
    const { counts, message } = frameErrors[code];
    if (counts) this.#badFrames++;
    this.send({ type: 'error', code, message });
    if (this.#badFrames >= badFramesMax) this.close('bad_protocol');
  }

  /** Every frame moves `lastSeen`; the deadline follows it only when it comes due. */
  #watchSilence(source: Source): void {
    const silentAt = source.lastSeen + this.#deps.limits.heartbeatWindowMs;
    this.#watch = this.#deps.deadlines.at(silentAt, () => {
      const isSilent =
        source.lastSeen + this.#deps.limits.heartbeatWindowMs <= this.#deps.clock.monotonic();
      if (isSilent) this.close('heartbeat_missed');
      else this.#watchSilence(source);
    });
  }
}
