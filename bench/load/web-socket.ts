/**
 * A WebSocket client for load: text frames in and out, pings answered, nothing else. Frames are
 * masked with zeros, which the protocol allows and which makes a prepared frame the bytes on the wire.
 */
import { randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import { requestRaw, type RequestTarget } from './raw-socket.js';

export interface WebSocketEvents {
  /** The text's bytes lie from `start` to `end`, valid only until this returns. */
  readonly onText: (bytes: Buffer, start: number, end: number) => void;
  readonly onClosed: (reason: string) => void;
}

const opcodes = { text: 0x1, close: 0x8, ping: 0x9, pong: 0xa } as const;
const isFinal = 0x80;
const isMasked = 0x80;
/** Lengths from here on stand in two bytes of their own, and from `long` on in eight. */
const medium = 126;
const long = 127;

/** A whole client frame with this text; up to 64 KiB. */
export function textFrame(text: string): Buffer {
  return frame(opcodes.text, Buffer.from(text));
}

function frame(opcode: number, payload: Buffer): Buffer {
  const length =
    payload.length < medium
      ? [isMasked | payload.length]
      : [isMasked | medium, payload.length >> 8, payload.length & 0xff];
  return Buffer.concat([Buffer.from([isFinal | opcode, ...length, 0, 0, 0, 0]), payload]);
}

export class LoadWebSocket {
  readonly #events: WebSocketEvents;
  #socket: Socket | undefined;
  #rest: Buffer | undefined;
  #isOpen = false;
  #opened: (() => void) | undefined;
  #refused: ((error: Error) => void) | undefined;

  constructor(events: WebSocketEvents) {
    this.#events = events;
  }

  /** Resolves after the upgrade; rejects with the answer's first line when it is refused. */
  async open(target: RequestTarget): Promise<void> {
    const opened = new Promise<void>((resolve, reject) => {
      this.#opened = resolve;
      this.#refused = reject;
    });
    const upgrade = [
      'Connection: Upgrade',
      'Upgrade: websocket',
      'Sec-WebSocket-Version: 13',
      `Sec-WebSocket-Key: ${randomBytes(16).toString('base64')}`,
    ];
    this.#socket = await requestRaw(target, upgrade, {
      onBytes: (bytes) => this.#take(bytes),
      onClosed: (reason) => {
        this.#refused?.(new Error(reason));
        this.#events.onClosed(reason);
      },
    });
    await opened;
  }

  /** Whole client frames, one or many. */
  write(frames: Uint8Array): void {
    this.#socket?.write(frames);
  }

  close(): void {
    this.#socket?.destroy();
  }

  #take(chunk: Buffer): void {
    const bytes = this.#rest === undefined ? chunk : Buffer.concat([this.#rest, chunk]);
    let at = this.#isOpen ? 0 : this.#takeHead(bytes);
    while (this.#isOpen) {
      const next = this.#takeFrame(bytes, at);
      if (next === undefined) break;
      at = next;
    }
    // A copy: the chunk lies in the shared buffer.
    this.#rest = at < bytes.length ? Buffer.from(bytes.subarray(at)) : undefined;
  }

  /** @returns where the first frame begins. */
  #takeHead(bytes: Buffer): number {
    const end = bytes.indexOf('\r\n\r\n');
    if (end < 0) return 0;
    const firstLine = bytes.toString('latin1', 0, bytes.indexOf('\r\n'));
    if (!firstLine.includes(' 101 ')) {
      this.#refused?.(new Error(`The upgrade was answered with: ${firstLine}`));
      return bytes.length;
    }
    this.#isOpen = true;
    this.#opened?.();
    return end + 4;
  }

  /** @returns where the next frame begins; undefined when this one is not complete. */
  #takeFrame(bytes: Buffer, at: number): number | undefined {
    if (bytes.length < at + 2) return undefined;
    const opcode = (bytes[at] as number) & 0x0f;
    const announced = bytes[at + 1] as number;
    let start = at + 2;
    let length = announced;
    if (announced === medium) {
      if (bytes.length < at + 4) return undefined;
      length = bytes.readUInt16BE(at + 2);
      start = at + 4;
    } else if (announced === long) {
      if (bytes.length < at + 10) return undefined;
      length = Number(bytes.readBigUInt64BE(at + 2));
      start = at + 10;
    }
    const end = start + length;
    if (bytes.length < end) return undefined;
    if (opcode === opcodes.text) this.#events.onText(bytes, start, end);
    else if (opcode === opcodes.ping) {
      this.write(frame(opcodes.pong, bytes.subarray(start, end)));
    } else if (opcode === opcodes.close) this.#socket?.end();
    return end;
  }
}
