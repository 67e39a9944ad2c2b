/**
 * The connection to the venue: TCP or TLS, the session over it, and reconnects. The messages of one turn of the
 * event loop leave after one flush of the journals, so that a kill forgets no message that has left. Owns the
 * socket, the session and their timers.
 */
import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { Clock, Timer } from '../lib/clock.js';
import { errorText } from '../lib/error-text.js';
import { setPatientTimer } from '../lib/patient-timer.js';
import { reconnectDelayMs } from '../terminal/reconnect-policy.js';
import { ActionQueue } from './action-queue.js';
import type { FixJournal } from './fix-journal.js';
import { FrameReader } from './frame-reader.js';
import { encodeMessage, type Field, type FixMessage, type ReceivedMessage } from './message.js';
import type { SessionEnd } from './session-end.js';
import type { SessionAction } from './session-action.js';
import { FixSession, type SessionOptions } from './session.js';

export type FixNotice =
  | { readonly kind: 'fix_connecting' }
  | { readonly kind: 'fix_logged_on' }
  | { readonly kind: 'fix_sent' | 'fix_received'; readonly message: FixMessage }
  | { readonly kind: 'fix_garbled'; readonly message: string }
  | { readonly kind: 'fix_lost'; readonly message: string; readonly retryMs: number }
  /** There will be no further attempt. */
  | { readonly kind: 'fix_ended'; readonly message: string };

export interface FixLinkOptions {
  readonly host: string;
  readonly port: number;
  /** Undefined: plain TCP. `ca`: certificates in PEM to trust instead of the system's. */
  readonly tls: { readonly ca: string | undefined } | undefined;
  readonly session: Omit<SessionOptions, 'numbers' | 'clock'>;
  readonly journal: FixJournal;
  readonly clock: Clock;
  readonly random: () => number;
  /** Makes the reports on received messages durable; called before the numbers of those messages are. */
  readonly flushReports: () => void;
  /** Whether a message may still leave; asked right before, because the flush may have taken long. */
  readonly mayLeave: (message: FixMessage) => boolean;
  readonly onLoggedOn: () => void;
  readonly onMessage: (message: ReceivedMessage) => void;
  readonly onMissed: (from: number, to: number) => void;
  readonly onUnread: (message: ReceivedMessage) => void;
  readonly onTick: () => void;
  readonly onNotice: (notice: FixNotice) => void;
}

const connectTimeoutMs = 15_000;
const closeTimeoutMs = 2_000;
const tickMs = 1_000;
/** Wait after a refused logon if an earlier one was accepted: the venue is closed, or has locked the account. */
const refusedRetryMs = 30_000;
/** After a session that stood for so long the reconnect delays begin anew. */
const steadyMs = 30_000;
/** With more unsent bytes the connection is cut: the venue does not read. */
const unsentBytesMax = 1 << 20;

export class FixLink {
  readonly #options: FixLinkOptions;
  readonly #session: FixSession;
  #reader = new FrameReader();
  #socket: Socket | undefined;
  readonly #actions = new ActionQueue((action) => this.#carryOut(action));
  #unsent: FixMessage[] = [];
  #nextFlush: NodeJS.Immediate | undefined;
  #ended: SessionEnd | undefined;
  #isStopping = false;
  #wasLoggedOn = false;
  /** When the present session logged on, in monotonic ms. */
  #loggedOnAt: number | undefined;
  #attempt = 0;
  #ticks: Timer | undefined;
  #retry: Timer | undefined;
  #onStopped: () => void = () => undefined;

  constructor(options: FixLinkOptions) {
    const { session, journal, clock } = options;
    this.#options = options;
    this.#session = new FixSession({ ...session, numbers: journal.numbers, clock });
  }

  get isLoggedOn(): boolean {
    return this.#session.isLoggedOn && this.#socket?.writable === true;
  }

  start(): void {
    this.#tickLater();
    this.#connect();
  }

  /** Logs out; resolves when the connection is closed. */
  stop(): Promise<void> {
    this.#isStopping = true;
    this.#retry?.cancel();
    if (this.#socket === undefined) return Promise.resolve(this.#close());
    return new Promise((resolve) => {
      this.#onStopped = resolve;
      this.#do(this.#session.logOut());
    });
  }

  /** Sends an application message. @returns its MsgSeqNum. */
  send(type: string, fields: readonly Field[]): number {
    const seq = this.#session.numbers.out;
    this.#do(this.#session.send(type, fields));
    return seq;
  }

  /** After a pause of the process the socket is read before a tick: it may hold what the session waits for. */
  #tickLater(): void {
    this.#ticks = setPatientTimer(this.#options.clock, tickMs, () => {
      this.#tickLater();
      this.#do(this.#session.tick());
      this.#options.onTick();
    });
  }

  #connect(): void {
    const { host, port, tls, clock, onNotice } = this.#options;
    onNotice({ kind: 'fix_connecting' });
    this.#ended = undefined;
    this.#reader = new FrameReader();
    this.#unsent = [];
    const ca = tls?.ca === undefined ? {} : { ca: tls.ca };
    // An address is no name of a server in TLS: the certificate is checked against `host`.
    const name = isIP(host) === 0 ? { servername: host } : {};
    const socket =
      tls === undefined
        ? connectTcp({ host, port, noDelay: true })
        : connectTls({ host, port, ...name, ...ca }).setNoDelay(true);
    this.#socket = socket;
    let failure = 'the connection was closed';
    const timeout = setPatientTimer(clock, connectTimeoutMs, () => {
      failure = 'no connection in time';
      socket.destroy();
    });
    socket.once(tls === undefined ? 'connect' : 'secureConnect', () => {
      timeout.cancel();
      this.#do(this.#session.connected());
    });
    socket.on('data', (chunk: Buffer) => this.#onData(chunk));
    socket.on('error', (error) => (failure = errorText(error)));
    socket.once('close', () => {
      timeout.cancel();
      this.#onClosed(this.#ended ?? { reason: 'silent', text: failure });
    });
  }

  #onData(chunk: Buffer): void {
    for (const frame of this.#reader.push(chunk)) {
      if (frame.kind === 'garbled') {
        this.#options.onNotice({ kind: 'fix_garbled', message: frame.reason });
        continue;
      }
      this.#options.onNotice({ kind: 'fix_received', message: frame.message });
      this.#do(this.#session.received(frame.message));
    }
  }

  #do(actions: readonly SessionAction[]): void {
    this.#nextFlush ??= setImmediate(() => this.#flush());
    this.#actions.add(actions);
  }

  #carryOut(action: SessionAction): void {
    const { journal, onLoggedOn, onMessage, onMissed, onUnread, onNotice } = this.#options;
    switch (action.kind) {
      case 'send':
        this.#unsent.push(action.message);
        return;
      case 'deliver':
        return onMessage(action.message);
      case 'logged_on':
        this.#wasLoggedOn = true;
        this.#loggedOnAt = this.#options.clock.monotonic();
        onNotice({ kind: 'fix_logged_on' });
        return onLoggedOn();
      case 'reset':
        return journal.noteReset();
      case 'missed':
        return onMissed(action.from, action.to);
      case 'unread':
        return onUnread(action.message);
      case 'end':
        this.#ended = action;
    }
  }

  #flush(): void {
    this.#nextFlush = undefined;
    const socket = this.#socket;
    try {
      this.#options.flushReports();
      this.#options.journal.flush(this.#session.numbers);
    } catch (error) {
      const text = `The journal cannot be written: ${errorText(error)}. The terminal ends: it sends only what is journaled.`;
      this.#ended = { reason: 'sequence', text };
      socket?.destroy();
      return;
    }
    if (socket === undefined) return;
    if (this.#unsent.length > 0 && socket.writable) this.#write(socket);
    this.#unsent = [];
    if (socket.writableLength > unsentBytesMax) {
      this.#ended ??= { reason: 'silent', text: 'the venue does not read what is sent to it' };
      socket.destroy();
    }
    if (this.#ended !== undefined) this.#end(socket);
  }

  #write(socket: Socket): void {
    const { session, mayLeave, onNotice } = this.#options;
    const bytes = this.#unsent.map((message) => {
      const leaving = mayLeave(message) ? message : this.#session.inPlaceOf(message);
      onNotice({ kind: 'fix_sent', message: leaving });
      return encodeMessage(session.beginString, leaving);
    });
    socket.write(Buffer.concat(bytes));
  }

  #end(socket: Socket): void {
    const destroy = (): void => void socket.destroy();
    socket.end(destroy);
    this.#options.clock.setTimer(closeTimeoutMs, destroy);
  }

  #onClosed(end: SessionEnd): void {
    const { clock, random, onNotice } = this.#options;
    this.#socket = undefined;
    this.#session.lost();
    const stoodMs = clock.monotonic() - (this.#loggedOnAt ?? Infinity);
    this.#loggedOnAt = undefined;
    const isFinal = end.reason === 'sequence' || (end.reason === 'refused' && !this.#wasLoggedOn);
    if (this.#isStopping || isFinal) {
      this.#close();
      if (!this.#isStopping) onNotice({ kind: 'fix_ended', message: end.text });
      return this.#onStopped();
    }
    if (stoodMs >= steadyMs) this.#attempt = 0;
    const usualMs = reconnectDelayMs(this.#attempt++, random);
    const retryMs = end.reason === 'refused' ? refusedRetryMs : usualMs;
    onNotice({ kind: 'fix_lost', message: end.text, retryMs });
    this.#retry = clock.setTimer(retryMs, () => this.#connect());
  }

  #close(): void {
    this.#ticks?.cancel();
    if (this.#nextFlush === undefined) return;
    clearImmediate(this.#nextFlush);
    this.#flush();
  }
}
