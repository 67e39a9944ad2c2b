/**
 * Writes one SSE response on the native server, with the write pattern that it needs
 * (native-notes/backpressure.md): one write of at most 15 KiB per cork, no write while the socket is blocked,
 * a probe write when it drains. Buffers at most the bytes of one `write`.
 */
import type { EventWriter, WriterCallbacks, WriterEnd } from '../events/event-writer.js';
import type { HttpResponse } from './uws.js';

/** The native server silently loses data if more than 16 KiB are written within one cork. */
const sliceBytesMax = 15 * 1024;
const keepAlive = ':\n\n';
const empty = new Uint8Array(0);

export class SseWriter implements EventWriter {
  readonly #res: HttpResponse;
  readonly #events: WriterCallbacks;
  #rest: Uint8Array = empty;
  #isBlocked = false;
  #isClosed = false;

  /** @param res its head must have been written. */
  constructor(res: HttpResponse, events: WriterCallbacks) {
    this.#res = res;
    this.#events = events;
    res.onWritable(() => {
      this.#drain();
      return true;
    });
  }

  /** Backpressure: while true, the caller must wait for `onDrained`. */
  isBlocked(): boolean {
    return this.#isBlocked;
  }

  isClosed(): boolean {
    return this.#isClosed;
  }

  write(bytes: Uint8Array): void {
    if (this.#isClosed) return;
    this.#rest = this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes]);
    this.#flush();
  }

  /** Writes a comment, so that proxies and clients do not close an idle stream. */
  keepAlive(): void {
    if (!this.#isClosed && !this.#isBlocked) this.#put(keepAlive);
  }

  /** Ends the response, after `finalChunk` if the socket is writable. */
  end(finalChunk = ''): void {
    if (this.#isClosed) return;
    if (finalChunk !== '' && !this.#isBlocked) this.#put(finalChunk);
    this.#close('ended');
    this.#res.cork(() => this.#res.end());
  }

  /** Closes the connection of a reader that is too slow. */
  abort(): void {
    if (this.#isClosed) return;
    this.#close('aborted');
    this.#res.close();
  }

  /** The client disconnected. */
  closed(): void {
    if (!this.#isClosed) this.#close('left');
  }

  #close(end: WriterEnd): void {
    this.#isClosed = true;
    this.#rest = empty;
    this.#events.onClosed(end);
  }

  /** Writes the rest of a partly written event first: a comment within it would corrupt it. */
  #drain(): void {
    if (this.#isClosed) return;
    this.#isBlocked = false;
    if (this.#rest.length === 0) this.#put(keepAlive);
    else this.#flush();
    if (!this.isBlocked()) this.#events.onDrained();
  }

  #flush(): void {
    let at = 0;
    let isWritable = !this.#isBlocked;
    while (isWritable && at < this.#rest.length) {
      isWritable = this.#put(this.#rest.subarray(at, at + sliceBytesMax));
      at += sliceBytesMax;
    }
    // A copy: the bytes that were passed are the caller's again when the call ends.
    this.#rest = at < this.#rest.length ? new Uint8Array(this.#rest.subarray(at)) : empty;
  }

  #put(slice: string | Uint8Array): boolean {
    let isWritable = false;
    this.#res.cork(() => {
      isWritable = this.#res.write(slice);
    });
    this.#isBlocked = !isWritable;
    return isWritable;
  }
}
