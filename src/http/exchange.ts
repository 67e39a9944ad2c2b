/**
 * One request and its answer: the only thing that endpoints see of HTTP. It guards what the native
 * server does not: one answer at most, none after an abort, every write corked, every header value
 * free of line breaks. Lives from the request's first tick until the answer is written or the client
 * is gone.
 */
import { errors, type ErrorCode, type FieldError } from '../errors.js';
import type { Route } from '../routes.js';
import type { WriterCallbacks } from '../events/event-writer.js';
import { SseWriter } from './sse-writer.js';
import { statusLine } from './status-line.js';
import type { RequestHead } from './request-head.js';
import type { HttpResponse } from './uws.js';

export interface Failure {
  readonly details?: readonly FieldError[];
  /** Whole seconds, at least 1. */
  readonly retryAfter?: number;
  readonly requestId?: string;
  readonly allow?: string;
  /** Replaces the code's standard text where more can be said. */
  readonly message?: string;
  /**
   * `announced`: the client is asked to close, and what it still sends is drained, since most clients
   * see nothing but a broken pipe otherwise. `forced`: the server closes at once.
   */
  readonly close?: 'announced' | 'forced';
}

/** The request, as far as its head's line and its arrival tell. */
export interface RequestContext {
  readonly isHead: boolean;
  readonly traceId: string;
  readonly route: Route | undefined;
  /** The route's place in the table, or -1. */
  readonly routeIndex: number;
  readonly parameter: string;
  readonly query: string;
  /** Monotonic ms. */
  readonly startedAt: number;
}

/** The server, as far as an exchange needs it. */
export interface ExchangeHost {
  /** Partition of a client, from its peer address (4 or 16 bytes) and `X-Forwarded-For`. */
  partitionOf(res: HttpResponse, forwardedFor: string): string;
  /** Told once, with the status, or 0 when the client left before its answer. */
  ended(exchange: Exchange, status: number): void;
  /** Told of a throw in an endpoint, before the client gets its 500. */
  failed(exchange: Exchange, error: unknown): void;
}

type Headers = readonly (readonly [name: string, value: string])[];

const contentType = ['Content-Type', 'application/json; charset=utf-8'] as const;
const noBody = new Uint8Array(0);
const noContent = 204;

export class Exchange {
  /** `RateLimit` and its policy, set by the gate once the key is known; every answer carries them. */
  rateLimit: { readonly policy: string; readonly state: string } | undefined;
  readonly #res: HttpResponse;
  readonly #host: ExchangeHost;
  #isOver = false;
  #body: Buffer | undefined;
  #stream: SseWriter | undefined;

  constructor(
    res: HttpResponse,
    host: ExchangeHost,
    readonly head: RequestHead,
    readonly request: RequestContext,
  ) {
    this.#res = res;
    this.#host = host;
    res.onAborted(() => {
      this.#end(0);
      this.#stream?.closed();
    });
  }

  /** True once it was answered or the client is gone: nothing that follows reaches anybody. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** The client's partition for limits on what is not authenticated. Ask before the answer. */
  get partition(): string {
    return this.#host.partitionOf(this.#res, this.head.forwardedFor);
  }

  /**
   * Hands the whole body to `then`, or answers 413. Call it within the request's first tick: the
   * native server drops what nobody listens for. The bytes are valid only until `then` returns.
   */
  readBody(bytesMax: number, then: (body: Uint8Array) => void | Promise<void>): void {
    const announced = Number(this.head.contentLength);
    if (announced > bytesMax) {
      this.fail('request_body_too_large', { close: 'announced' });
      return;
    }
    let length = 0;
    this.#res.onData((chunk, isLast) => {
      if (this.#isOver) return;
      if (length + chunk.byteLength > bytesMax) {
        this.#body = undefined;
        this.fail('request_body_too_large', { close: 'announced' });
        return;
      }
      if (isLast && length === 0) {
        this.run(() => then(chunk.byteLength === 0 ? noBody : new Uint8Array(chunk)));
        return;
      }
      this.#body ??= Buffer.allocUnsafe(announced > 0 ? announced : Math.min(bytesMax, 4096));
      if (length + chunk.byteLength > this.#body.length) this.#growBody(length, bytesMax);
      this.#body.set(new Uint8Array(chunk), length);
      length += chunk.byteLength;
      if (isLast) this.run(() => then((this.#body as Buffer).subarray(0, length)));
    });
  }

  #growBody(length: number, bytesMax: number): void {
    const larger = Buffer.allocUnsafe(bytesMax);
    larger.set((this.#body as Buffer).subarray(0, length));
    this.#body = larger;
  }

  /** Answers with JSON text. */
  reply(status: number, body: string, headers: Headers = [], closeNow = false): void {
    if (this.#isOver) return;
    const head = this.#head(status, body === '' ? headers : [...headers, contentType]);
    this.#res.cork(() => {
      this.#res.writeStatus(head);
      if (status === noContent) {
        // The one answer that must not carry a length.
        this.#res.endWithoutBody();
      } else if (!this.request.isHead) {
        this.#res.end(body, closeNow);
      } else if (closeNow) {
        this.#res.end('', true);
      } else {
        // Without an argument: with one the native server never ends the answer.
        this.#res.writeHeader('Content-Length', String(Buffer.byteLength(body))).endWithoutBody();
      }
    });
    this.#end(status);
  }

  /** Answers 200 and leaves the answer open for events. To a HEAD it only answers. */
  openStream(firstWords: string, events: WriterCallbacks): SseWriter | undefined {
    if (this.#isOver) return undefined;
    const headers = [
      ['Content-Type', 'text/event-stream'],
      ['Cache-Control', 'no-store'],
      ['X-Accel-Buffering', 'no'],
    ] as const;
    if (this.request.isHead) {
      this.reply(200, '', headers);
      return undefined;
    }
    const head = this.#head(200, headers);
    this.#res.cork(() => {
      this.#res.writeStatus(head);
      this.#res.write(firstWords);
    });
    this.#stream = new SseWriter(this.#res, events);
    this.#end(200);
    return this.#stream;
  }

  /** Answers with the documented error, in the envelope of the route. */
  fail(code: ErrorCode, failure: Failure = {}): void {
    if (this.#isOver) return;
    const { status } = errors[code];
    const headers: [string, string][] = [];
    if (failure.retryAfter !== undefined) {
      headers.push(['Retry-After', String(Math.max(1, Math.ceil(failure.retryAfter)))]);
    }
    if (failure.allow !== undefined) headers.push(['Allow', failure.allow]);
    if (status === 401) headers.push(['WWW-Authenticate', 'Bearer']);
    if (status === 426) headers.push(['Upgrade', 'websocket']);
    if (failure.close !== undefined) headers.push(['Connection', 'close']);
    this.reply(status, this.#errorBody(code, failure), headers, failure.close === 'forced');
  }

  #errorBody(code: ErrorCode, failure: Failure): string {
    const message = failure.message ?? errors[code].message;
    if (this.request.route?.envelope === 'legacy') {
      return JSON.stringify(
        failure.details === undefined
          ? { code, message }
          : { code, message, errors: failure.details },
      );
    }
    return JSON.stringify({
      error: {
        code,
        message,
        traceId: this.request.traceId,
        ...(failure.details === undefined ? {} : { details: failure.details }),
      },
      ...(failure.requestId === undefined ? {} : { requestId: failure.requestId }),
    });
  }

  /** One text for the status line and all headers: a call into native code for each costs more. */
  #head(status: number, headers: Headers): string {
    let head = `${statusLine(status)}\r\nX-Trace-Id: ${this.request.traceId}`;
    if (this.rateLimit !== undefined) {
      head += `\r\nRateLimit-Policy: ${this.rateLimit.policy}\r\nRateLimit: ${this.rateLimit.state}`;
    }
    for (const [name, value] of headers) head += `\r\n${name}: ${withoutLineBreaks(value)}`;
    return head;
  }

  /** Runs an endpoint or a part of it: a throw is a bug, gets a log line and a 500. */
  run(work: () => void | Promise<void>): void {
    try {
      work()?.catch((error: unknown) => this.#onError(error));
    } catch (error) {
      this.#onError(error);
    }
  }

  #onError(error: unknown): void {
    this.#host.failed(this, error);
    this.fail('internal_error');
  }

  #end(status: number): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#body = undefined;
    this.#host.ended(this, status);
  }
}

function withoutLineBreaks(value: string): string {
  return /[\r\n\0]/.test(value) ? value.replace(/[\r\n\0]/g, ' ') : value;
}
