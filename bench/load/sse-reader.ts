/**
 * A reader of one event stream. It finds every event by the number that its publisher wrote into it,
 * and so knows how many came and whether they came in order. Understands both forms that servers give
 * a stream: HTTP chunks, and bare bytes up to the end of the connection.
 */
import type { Socket } from 'node:net';
import { readDigits } from './digits.js';
import { requestRaw, type RequestTarget } from './raw-socket.js';
import { numberDigits, numberMarker } from './sample-event.js';

const marker = Buffer.from(numberMarker);
const foundBytes = marker.length + numberDigits;
const lineFeed = 0x0a;
const nothing = Buffer.alloc(0);

export class SseReader {
  events = 0;
  /** Events that came again or behind a later one. */
  disordered = 0;
  bytes = 0;
  /** The newest number seen; 0 before the first event. */
  latest = 0;
  isClosed = false;
  #socket: Socket | undefined;
  #head: string | undefined = '';
  #opened: (() => void) | undefined;
  #refused: ((error: Error) => void) | undefined;
  #isChunked = false;
  /** Bytes of the current chunk that are still to come, and the size that is being read. */
  #chunkLeft = 0;
  #chunkSize = 0;
  /** The end of what was scanned, where a number may be cut in two. */
  #tail = nothing;

  /** Resolves when the stream is open; rejects with the answer's first line when it is refused. */
  async open(target: RequestTarget): Promise<void> {
    const opened = new Promise<void>((resolve, reject) => {
      this.#opened = resolve;
      this.#refused = reject;
    });
    this.#socket = await requestRaw(target, ['Accept: text/event-stream'], {
      onBytes: (bytes) => this.#take(bytes),
      onClosed: (reason) => {
        this.isClosed = true;
        this.#refused?.(new Error(reason));
      },
    });
    await opened;
  }

  close(): void {
    this.#socket?.destroy();
  }

  #take(bytes: Buffer): void {
    this.bytes += bytes.length;
    const start = this.#head === undefined ? 0 : this.#takeHead(bytes, this.#head);
    if (this.#isChunked) this.#takeChunks(bytes, start);
    else if (start < bytes.length) this.#scan(bytes.subarray(start));
  }

  /** @returns where the body begins. */
  #takeHead(bytes: Buffer, before: string): number {
    const head = before + bytes.toString('latin1');
    const end = head.indexOf('\r\n\r\n');
    this.#head = end < 0 ? head : undefined;
    if (end < 0) return bytes.length;
    const firstLine = head.slice(0, head.indexOf('\r\n'));
    if (!firstLine.includes(' 200 ')) {
      this.#refused?.(new Error(`The stream was answered with: ${firstLine}`));
      return bytes.length;
    }
    this.#isChunked = /\r\ntransfer-encoding: *chunked\r\n/i.test(head.slice(0, end + 2));
    this.#opened?.();
    return end + 4 - before.length;
  }

  #takeChunks(bytes: Buffer, start: number): void {
    let at = start;
    while (at < bytes.length) {
      if (this.#chunkLeft > 0) {
        const end = Math.min(bytes.length, at + this.#chunkLeft);
        this.#scan(bytes.subarray(at, end));
        this.#chunkLeft -= end - at;
        at = end;
        continue;
      }
      // Of the lines between chunks only the hexadecimal digits and the end count.
      const byte = bytes[at++] as number;
      if (byte === lineFeed) {
        this.#chunkLeft = this.#chunkSize;
        this.#chunkSize = 0;
      } else {
        const digit = byte <= 0x39 ? byte - 0x30 : (byte | 0x20) - 0x57;
        if (digit >= 0 && digit < 16) this.#chunkSize = this.#chunkSize * 16 + digit;
      }
    }
  }

  #scan(part: Buffer): void {
    const bytes = this.#tail.length === 0 ? part : Buffer.concat([this.#tail, part]);
    let at = 0;
    for (;;) {
      const found = bytes.indexOf(marker, at);
      if (found < 0 || found + foundBytes > bytes.length) break;
      at = found + foundBytes;
      this.#count(readDigits(bytes, found + marker.length, numberDigits));
    }
    const { length } = bytes;
    const isWhole = bytes[length - 1] === lineFeed && bytes[length - 2] === lineFeed;
    this.#tail = isWhole ? nothing : Buffer.from(bytes.subarray(Math.max(at, length - foundBytes)));
  }

  #count(number: number): void {
    this.events++;
    if (number <= this.latest) this.disordered++;
    else this.latest = number;
  }
}
