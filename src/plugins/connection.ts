/**
 * Manages one plugin connection, from its upgrade to its close: enforces `hello` first, passes frames to the
 * handlers, counts bad frames, enforces the heartbeat timeout, and closes with a code that tells the plugin
 * whether to reconnect. Owns the connection's state; independent of the native socket.
 */
import type { Clock } from '../lib/clock.js';
import type { Deadline, Deadlines } from '../lib/deadlines.js';
import type { Counter, CounterSet } from '../lib/instruments.js';
import type { Steps } from '../lib/turn.js';
import type { Limits } from '../limits.js';
import { nameOf } from '../model/source-name.js';
import type { TrailFields } from '../model/trail-events.js';
import { decodeFrame, type DecodedFrame, type FrameBytes } from './decode-frame.js';
import {
  badFramesMax,
  closeCodes,
  frameErrors,
  helloTimeoutMs,
  type CloseReason,
  type ConnectionEnd,
  type FrameErrorCode,
  type GatewayFrame,
  type LaterFrame,
  type PluginFrameOf,
} from './protocol.js';
import { numbersAfter, type Source, type SourceConnection } from './source.js';
import type { Budgets, UserBudget } from './budget.js';

/** What the connection needs of a socket. */
export interface PluginSocket {
  /** @returns false when the send buffer is full: the plugin reads too slowly. */
  send(text: string): boolean;
  /** Backpressure: while true, a backlog should pause; `drained` follows. */
  isCongested(): boolean;
  /** Calls the connection's `closed` once the frames that wait are handled. */
  endBehind(): void;
  close(code: number, reason: string): void;
}

/** The session whose token authenticated the connection, and the request that opened it. */
export interface ConnectionSession {
  readonly userId: string;
  /** Hash of the session token. */
  readonly hash: string;
  /** Wall time in Unix ms. */
  readonly expiresAt: number;
  readonly traceId: string;
  readonly clientAddress: string;
}

export interface ConnectionDeps {
  readonly clock: Clock;
  readonly deadlines: Deadlines;
  readonly limits: Limits;
  readonly framesRejected: Counter;
  readonly connectionsClosed: CounterSet<ConnectionEnd>;
  readonly budgets: Budgets;
  readonly handlers: ConnectionHandlers;
}

export interface ConnectionHandlers {
  readonly onOpen: (connection: Connection) => void;
  /** @returns how many open executions `welcome` looks through. */
  readonly openExecutionsOf: (userId: string, hello: PluginFrameOf<'hello'>) => number;
  /** @returns the source that the connection is bound to, or why the hello is rejected or the connection ends. */
  readonly identify: (
    connection: Connection,
    hello: PluginFrameOf<'hello'>,
  ) => Source | FrameErrorCode | { readonly close: CloseReason };
  /** Sends the welcome frame and starts the redelivery. @returns what is left to be done before the next frame. */
  readonly welcome: (
    connection: Connection,
    source: Source,
    hello: PluginFrameOf<'hello'>,
  ) => Steps | undefined;
  /** @returns what has to be done before `onFrame`. */
  readonly readAhead: (
    connection: Connection,
    source: Source,
    frame: LaterFrame,
  ) => Steps | undefined;
  /** @returns why the frame is rejected; undefined if it is accepted. */
  readonly onFrame: (
    connection: Connection,
    source: Source,
    frame: LaterFrame,
    bytes: FrameBytes,
  ) => FrameErrorCode | undefined;
  /** A frame has arrived that is bad, or that a later turn handles. */
  readonly onHeard: (source: Source) => void;
  /** The send buffer has drained. */
  readonly onDrained: (connection: Connection, source: Source) => void;
  readonly onClosed: (connection: Connection, reason: ConnectionEnd) => void;
}

const notText: DecodedFrame = { error: 'not_text' };

export class Connection implements SourceConnection {
  readonly #deps: ConnectionDeps;
  readonly #socket: PluginSocket;
  readonly budget: UserBudget;
  #source: Source | undefined;
  numbers = numbersAfter(0);
  #isClosed = false;
  #isTooFast = false;
  #badFrames = 0;
  /** Highest `seq` to acknowledge at the end of the turn; 0 when there is none. */
  #seqToAcknowledge = 0;
  /** Monotonic ms. */
  readonly #helloDue: number;
  #silenceTimeout: Deadline;
  readonly #sessionEnd: Deadline;

  constructor(
    readonly connectionId: string,
    readonly session: ConnectionSession,
    socket: PluginSocket,
    deps: ConnectionDeps,
  ) {
    this.#deps = deps;
    this.#socket = socket;
    this.budget = deps.budgets.of(session.userId);
    this.budget.connections++;
    this.#helloDue = deps.clock.monotonic() + helloTimeoutMs;
    this.#silenceTimeout = this.#awaitHello();
    this.#sessionEnd = deps.deadlines.after(session.expiresAt - deps.clock.now(), () =>
      this.close('session_revoked'),
    );
  }

  /** Undefined before a valid hello. */
  get source(): Source | undefined {
    return this.#source;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Identifies the connection in the log. */
  get trail(): TrailFields<'plugin_connected'> {
    const { traceId, clientAddress, userId } = this.session;
    const { connectionId, source } = this;
    return { traceId, clientAddress, connectionId, userId, source: source && nameOf(source) };
  }

  get isCongested(): boolean {
    return this.#socket.isCongested();
  }

  /** Counts a frame of any kind against the user's budget. @returns false when it is not to be handled. */
  admit(bytes: number): boolean {
    if (this.#isClosed || this.#isTooFast) return false;
    if (this.budget.spend(bytes)) return true;
    this.tooFast();
    return false;
  }

  /**
   * Ends the connection because its user sends more than it may. Admitted frames are handled first: otherwise
   * a plugin that sends a long queue would lose all but its first frames, at each reconnect.
   */
  tooFast(): void {
    this.#isTooFast = true;
    this.#deps.framesRejected.add();
    this.#socket.endBehind();
  }

  /** A frame has arrived that is not handled, or not yet: the plugin is not silent. */
  heard(): void {
    if (this.#source !== undefined) this.#deps.handlers.onHeard(this.#source);
    // It may be the hello: that is in time, however long it waits behind other frames of its user.
    else this.#deps.deadlines.remove(this.#silenceTimeout);
  }

  /** The bytes are valid only during the call. @returns what is left to be done before the next frame. */
  receive(bytes: Uint8Array, isBinary: boolean): Steps | undefined {
    const decoded = isBinary ? notText : decodeFrame(bytes);
    if (decoded.frame === undefined) {
      this.#reject(decoded.error, decoded.field);
      return undefined;
    }
    const { frame } = decoded;
    const outcome =
      frame.type === 'hello' ? this.#handleHello(frame) : this.#handle(frame, decoded.bytes);
    if (typeof outcome !== 'string') return outcome;
    this.#reject(outcome);
    return undefined;
  }

  send(frame: GatewayFrame): boolean {
    return this.sendText(JSON.stringify(frame));
  }

  sendText(text: string): boolean {
    if (this.#isClosed) return false;
    if (this.#socket.send(text)) return true;
    this.close('too_slow');
    return false;
  }

  acknowledge(seq: number): void {
    const isScheduled = this.#seqToAcknowledge > 0;
    this.#seqToAcknowledge = Math.max(this.#seqToAcknowledge, seq);
    if (isScheduled) return;
    queueMicrotask(() => {
      this.send({ type: 'ack', seq: this.#seqToAcknowledge });
      this.#seqToAcknowledge = 0;
    });
  }

  drained(): void {
    if (this.#isClosed || this.#source === undefined) return;
    this.#deps.handlers.onDrained(this, this.#source);
  }

  close(reason: CloseReason): void {
    if (this.#isClosed) return;
    this.#end(reason);
    this.#socket.close(closeCodes[reason], reason);
  }

  /** The peer or the network has closed the socket, or the last admitted frame is handled. */
  closed(): void {
    if (this.#isClosed) return;
    if (this.#isTooFast) this.#closeTooFast();
    else this.#end('terminal_left');
  }

  spendFills(fills: number): boolean {
    return this.#mayGoOn(this.budget.spendFills(fills));
  }

  /** Closes at once if a frame costs more than is left: those that wait behind it may cost as much. */
  #mayGoOn(isPaid: boolean): boolean {
    if (!isPaid && !this.#isClosed) {
      this.#deps.framesRejected.add();
      this.#closeTooFast();
    }
    return isPaid;
  }

  #closeTooFast(): void {
    const { message } = frameErrors.too_fast;
    this.#socket.send(JSON.stringify({ type: 'error', code: 'too_fast', message }));
    this.close('too_fast');
  }

  #end(reason: ConnectionEnd): void {
    this.#isClosed = true;
    this.budget.connections--;
    this.#deps.connectionsClosed.add(reason);
    this.#deps.deadlines.remove(this.#silenceTimeout);
    this.#deps.deadlines.remove(this.#sessionEnd);
    this.#deps.handlers.onClosed(this, reason);
  }

  #awaitHello(): Deadline {
    return this.#deps.deadlines.at(this.#helloDue, () => this.close('bad_protocol'));
  }

  #handleHello(hello: PluginFrameOf<'hello'>): FrameErrorCode | Steps | undefined {
    if (this.#source !== undefined) return 'hello_repeated';
    const { handlers, deadlines } = this.#deps;
    const { executions = [] } = hello;
    const open = handlers.openExecutionsOf(this.session.userId, hello);
    if (!this.#mayGoOn(this.budget.spendHello(executions.length, open))) return undefined;
    const source = handlers.identify(this, hello);
    if (typeof source === 'string') return source;
    if ('close' in source) {
      this.close(source.close);
      return undefined;
    }
    this.#source = source;
    const steps = handlers.welcome(this, source, hello);
    deadlines.remove(this.#silenceTimeout);
    // `welcome` may have closed the connection as too slow.
    if (!this.#isClosed) this.#armSilenceTimeout(source);
    return steps;
  }

  #handle(frame: LaterFrame, bytes: FrameBytes): FrameErrorCode | Steps | undefined {
    const source = this.#source;
    if (source === undefined) return 'hello_expected';
    const { handlers } = this.#deps;
    const ahead = handlers.readAhead(this, source, frame);
    if (this.#isClosed) return undefined;
    if (ahead !== undefined) return this.#handleAfter(ahead, source, frame, copyOf(bytes));
    return handlers.onFrame(this, source, frame, bytes);
  }

  *#handleAfter(ahead: Steps, source: Source, frame: LaterFrame, bytes: FrameBytes): Steps {
    yield* ahead;
    if (this.#isClosed) return;
    const rejection = this.#deps.handlers.onFrame(this, source, frame, bytes);
    if (rejection !== undefined) this.#reject(rejection);
  }

  /** @param field that makes the frame invalid. */
  #reject(code: FrameErrorCode, field?: string): void {
    this.#deps.framesRejected.add();
    this.heard();
    if (this.#source === undefined) this.#silenceTimeout = this.#awaitHello();
    const { counts, message: usual } = frameErrors[code];
    if (counts) this.#badFrames++;
    const message = field === undefined ? usual : `The field ${field} is missing or not valid.`;
    this.send({ type: 'error', code, message });
    if (this.#badFrames >= badFramesMax) this.close('bad_protocol');
  }

  /** Frames update only `lastSeen`; the deadline is rescheduled when it fires, not for each frame. */
  #armSilenceTimeout(source: Source): void {
    const { clock, deadlines, limits } = this.#deps;
    const silentAt = source.lastSeen + limits.heartbeatWindowMs;
    this.#silenceTimeout = deadlines.at(silentAt, () => {
      const isSilent = source.lastSeen + limits.heartbeatWindowMs <= clock.monotonic();
      if (isSilent) this.close('heartbeat_missed');
      else this.#armSilenceTimeout(source);
    });
  }
}

function copyOf({ whole, data }: FrameBytes): FrameBytes {
  return { whole: new Uint8Array(whole), data: data && new Uint8Array(data) };
}
