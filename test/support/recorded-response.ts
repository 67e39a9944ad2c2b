/** A native response that records every call and throws on a write outside a cork or after the end. */
import type { HttpResponse } from '../../src/http/uws.js';

export class RecordedResponse {
  status = '';
  /** Header lines of the status text and of `writeHeader`. */
  readonly headers: string[] = [];
  readonly written: string[] = [];
  /** The argument of `end`; undefined until then, and where it is ended without a body. */
  body: string | undefined;
  isEnded = false;
  isClosed = false;
  closesAfter = false;
  /** What `write` returns: false once the socket takes no more. */
  isWritable = true;
  /** Bytes of a body that the socket takes at once. */
  takes = Infinity;
  #offset = 0;
  #corks = 0;
  #onAborted: (() => void) | undefined;
  #onWritable: (offset: number) => boolean = () => true;
  #onData: (chunk: ArrayBuffer, isLast: boolean) => void = () => undefined;

  /** @param peer the client's address, 4 bytes. */
  constructor(readonly peer: readonly number[] = [192, 0, 2, 1]) {}

  getRemoteAddress(): ArrayBuffer {
    return Uint8Array.from(this.peer).buffer;
  }

  get native(): HttpResponse {
    return this as unknown as HttpResponse;
  }

  /** Whether there is a listener for the client's leaving. */
  get isListenedTo(): boolean {
    return this.#onAborted !== undefined;
  }

  /** The client is gone. */
  abort(): void {
    this.#onAborted?.();
  }

  /** The socket has room. @param isWritable whether it has room for all of the next write. */
  drain(isWritable = true): void {
    this.isWritable = isWritable;
    this.#onWritable(this.#offset);
  }

  /** A part of the request's body comes. */
  receive(text: string, isLast: boolean): void {
    const bytes = new TextEncoder().encode(text);
    this.inCall(() => this.#onData(bytes.buffer, isLast));
  }

  onAborted(task: () => void): this {
    if (this.isEnded || this.isClosed) throw new Error('listened to after the end');
    this.#onAborted = task;
    return this;
  }

  onWritable(task: (offset: number) => boolean): this {
    this.#onWritable = task;
    return this;
  }

  onData(task: (chunk: ArrayBuffer, isLast: boolean) => void): this {
    this.#onData = task;
    return this;
  }

  cork(work: () => void): this {
    this.#corks++;
    work();
    this.#corks--;
    return this;
  }

  /** The native server is in a call for this response, which corks it. */
  inCall(work: () => void): void {
    this.cork(work);
  }

  writeStatus(bytes: string | Uint8Array): this {
    this.#mayWrite();
    const [status = '', ...headers] = Buffer.from(bytes as Uint8Array)
      .toString()
      .split('\r\n');
    this.status = status;
    this.headers.push(...headers);
    return this;
  }

  writeHeader(name: string, value: string): this {
    this.#mayWrite();
    this.headers.push(`${name}: ${value}`);
    return this;
  }

  write(bytes: string | Uint8Array): boolean {
    this.#mayWrite();
    this.written.push(Buffer.from(bytes as Uint8Array).toString());
    return this.isWritable;
  }

  end(body?: string | Uint8Array, closesAfter = false): this {
    this.#mayWrite();
    this.isEnded = true;
    this.body = body === undefined ? undefined : Buffer.from(body as Uint8Array).toString();
    this.closesAfter = closesAfter;
    return this;
  }

  endWithoutBody(_length?: number, closesAfter = false): this {
    this.#mayWrite();
    this.isEnded = true;
    this.closesAfter = closesAfter;
    return this;
  }

  tryEnd(rest: string | Uint8Array, total: number): [boolean, boolean] {
    if (this.isEnded || this.isClosed) throw new Error('written after the end');
    const bytes = Buffer.from(rest as Uint8Array);
    const taken = bytes.subarray(0, Math.min(bytes.length, this.takes));
    this.body = (this.body ?? '') + taken.toString();
    this.#offset += taken.length;
    this.isEnded = this.#offset === total;
    return [taken.length === bytes.length, this.isEnded];
  }

  getWriteOffset(): number {
    return this.#offset;
  }

  close(): this {
    this.isClosed = true;
    return this;
  }

  #mayWrite(): void {
    if (this.isEnded || this.isClosed) throw new Error('written after the end');
    if (this.#corks !== 1) throw new Error('written outside of a cork');
  }
}
