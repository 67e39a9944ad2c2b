/**
 * One SSE answer on the native server, from its head to its end. Keeps the pattern that this server
 * needs (native-notes/backpressure.md): one write per cork and at most 15 KiB in it, nothing written
 * while the socket is blocked, a probe write when it drains. Holds at most what one `write` gave it.
 */
import type { EventWriter, WriterCallbacks, WriterEnd } from '../events/event-writer.js';
import type { HttpResponse } from './uws.js';

/** More than 16 KiB written within one cork is lost silently by the installed binary. */
const sliceBytesMax = 15 * 1024;
const keepAlive = ':\n\n';
const nothing = new Uint8Array(0);

export class SseWriter implements EventWriter {
  readonly #res: HttpResponse;
  readonly #events: WriterCallbacks;
  #rest: Uint8Array = nothing;
  #isBlocked = false;
  #isClosed = false;

  /** The head of the answer must be written already. */
  constructor(res: HttpResponse, events: WriterCallbacks) {
    this.#res = res;
    this.#events = events;
    res.onWritable(() => {
      this.#drain();
      return true;
    });
  }

  /** While true, `write` must wait for `onDrained`. */
  isBlocked(): boolean {
    return this.#isBlocked;
  }

  isClosed(): boolean {
    return this.#isClosed;
  }

  /** The bytes may be shared with other writers: nobody changes them. */
  write(bytes: Uint8Array): void {
    if (this.#isClosed) return;
    this.#rest = this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes]);
    this.#flush();
  }

  /** A comment that keeps proxies and clients from giving up a silent stream. */
  keepAlive(): void {
    if (!this.#isClosed && !this.#isBlocked) this.#put(keepAlive);
  }

  /** Ends the answer properly, after some last words where the socket still takes any. */
  end(lastWords = ''): void {
    if (this.#isClosed) return;
    if (lastWords !== '' && !this.#isBlocked) this.#put(lastWords);
    this.#close('ended');
    this.#res.cork(() => this.#res.end());
  }

  /** Breaks the connection: for a reader that does not read. */
  abort(): void {
    if (this.#isClosed) return;
    this.#close('aborted');
    this.#res.close();
  }

  /** The client is gone. */
  closed(): void {
    if (!this.#isClosed) this.#close('left');
  }

  #close(end: WriterEnd): void {
    this.#isClosed = true;
    this.#rest = nothing;
    this.#events.onClosed(end);
  }

  /** What is left of an event goes first: a comment in its middle would break it in two. */
  #drain(): void {
    if (this.#isClosed) return;
    this.#isBlocked = false;
    if (this.#rest.length === 0) this.#put(keepAlive);
    else this.#flush();
    if (!this.isBlocked()) this.#events.onDrained();
  }

  #flush(): void {
    let at = 0;
    let isTaken = !this.#isBlocked;
    while (isTaken && at < this.#rest.length) {
      isTaken = this.#put(this.#rest.subarray(at, at + sliceBytesMax));
      at += sliceBytesMax;
    }
    this.#rest = at < this.#rest.length ? this.#rest.subarray(at) : nothing;
  }

  #put(slice: string | Uint8Array): boolean {
    let isTaken = false;
    this.#res.cork(() => {
      isTaken = this.#res.write(slice);
    });
    this.#isBlocked = !isTaken;
    return isTaken;
  }
}
