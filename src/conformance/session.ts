/** One connection of the plugin under test, from its hello to its end. Owns the socket. */
import type { WebSocket } from 'ws';
import type { Clock } from '../lib/clock.js';
import { closeCodes, type CloseReason, type PluginFrame } from '../plugins/protocol.js';
import { decodeFrame } from '../plugins/decode-frame.js';

/** Longest wait for what was sent to be on its way. */
const sendingMs = 5_000;
/** The close code of a connection that ended without a close frame of the plugin. */
const brokenCode = 1_006;

export interface SessionListeners {
  readonly onFrame: (frame: PluginFrame) => void;
  /** Called with the reason when a message is no valid frame. */
  readonly onBadFrame: (why: string) => void;
  readonly onChange: () => void;
  /** Before `onChange`. */
  readonly onLost: () => void;
}

export class Session {
  /** Whether frames with a `seq` are acknowledged as they come. */
  acknowledges = true;
  isWelcomed = false;
  isClosed = false;
  /** The line broke or the plugin disconnected, before it could know what the judge wanted. */
  isLost = false;
  /** Monotonic milliseconds. */
  readonly openedAt: number;
  readonly #clock: Clock;
  #isCut = false;
  #isSentAway = false;
  pongs = 0;

  constructor(
    readonly socket: WebSocket,
    /** Subprotocols that the upgrade offered. */
    readonly offered: readonly string[],
    clock: Clock,
    listeners: SessionListeners,
  ) {
    this.#clock = clock;
    this.openedAt = clock.monotonic();
    socket.on('message', (data: Buffer, isBinary) => {
      const { frame, error } = isBinary ? { error: 'not_text' } : decodeFrame(new Uint8Array(data));
      if (frame === undefined) listeners.onBadFrame(`${error}: ${data.toString().slice(0, 200)}`);
      else listeners.onFrame(frame);
    });
    socket.on('pong', () => {
      this.pongs++;
      listeners.onChange();
    });
    socket.on('close', (code) => {
      this.isClosed = true;
      const hasHeard = this.#isSentAway && code !== brokenCode;
      this.isLost = !this.#isCut && !hasHeard;
      if (this.isLost) listeners.onLost();
      listeners.onChange();
    });
    socket.on('error', () => undefined);
  }

  /** Any object: some rules send what a gateway of this version does not. */
  send(frame: object): void {
    this.socket.send(JSON.stringify(frame));
  }

  /** Ends the connection without a close frame, once what was sent is on its way, or the plugin has not read it in time. */
  async cut(): Promise<void> {
    this.#isCut = true;
    if (this.isClosed) return;
    const end = (): void => this.socket.terminate();
    const timer = this.#clock.setTimer(sendingMs, end);
    await new Promise((resolve) => {
      this.socket.once('close', resolve);
      this.socket.ping(undefined, undefined, end);
    });
    timer.cancel();
  }

  close(reason: CloseReason): void {
    this.#isSentAway = true;
    this.socket.close(closeCodes[reason], reason);
  }
}
