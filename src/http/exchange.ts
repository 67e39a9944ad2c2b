/**
 * One request and its response: the only HTTP object that endpoints use. Enforces what the native server does
 * not: at most one response, none after an abort, every write corked, no line break in a header value. Lives
 * from the request's first tick until the response is written or the client disconnects.
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
  /** Replaces the code's standard message by a more specific one. */
  readonly message?: string;
  /**
   * `announced`: sends `Connection: close` and drains the rest of the body, because most clients would report a
   * broken pipe instead of the response. `forced`: closes the connection at once.
   */
  readonly close?: 'announced' | 'forced';
}

/** The request, from its request line and its arrival. */
export interface RequestContext {
  readonly isHead: boolean;
  readonly traceId: string;
  readonly route: Route | undefined;
  /** The route's index in the table, or -1. */
  readonly routeIndex: number;
  readonly parameter: string;
  readonly query: string;
  /** Monotonic ms. */
  readonly startedAt: number;
}

/** What an exchange needs of the server. */
export interface ExchangeHost {
  /** Partition of a client, from its peer address (4 or 16 bytes) and `X-Forwarded-For`. */
  partitionOf(res: HttpResponse, forwardedFor: string): string;
  /** Called once, with the status, or 0 when the client disconnected before its response. */
  ended(exchange: Exchange, status: number): void;
  /** Called when an endpoint throws, before the client gets a 500. */
  failed(exchange: Exchange, error: unknown): void;
}

type Headers = readonly (readonly [name: string, value: string])[];

const contentType = ['Content-Type', 'application/json; charset=utf-8'] as const;
const noBody = new Uint8Array(0);
const noContent = 204;

export class Exchange {
  /**
   * `RateLimit` and `RateLimit-Policy`. The gate sets them once the key is known; then every response has
   * them.
   */
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

  /** True once a response was sent or the client disconnected; later calls do nothing. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** The client's rate-limit partition for unauthenticated requests. Read it before the response. */
  get partition(): string {
    return this.#host.partitionOf(this.#res, this.head.forwardedFor);
  }

  /**
   * Passes the whole body to `then`, or responds with 413. Call it within the request's first tick: the native
   * server discards body chunks without a listener. The bytes are valid only until `then` returns.
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

  /** Responds with JSON text. */
  reply(status: number, body: string, headers: Headers = [], closeNow = false): void {
    if (this.#isOver) return;
    const head = this.#head(status, body === '' ? headers : [...headers, contentType]);
    this.#res.cork(() => {
      this.#res.writeStatus(head);
      if (status === noContent) {
        // A 204 must not have a Content-Length.
        this.#res.endWithoutBody();
      } else if (!this.request.isHead) {
        this.#res.end(body, closeNow);
      } else if (closeNow) {
        this.#res.end('', true);
      } else {
        // Without an argument: with one the native server never ends the response.
        this.#res.writeHeader('Content-Length', String(Buffer.byteLength(body))).endWithoutBody();
      }
    });
    this.#end(status);
  }

  /**
   * Responds with 200 and keeps the response open for events. @returns undefined for a HEAD or a closed
   * client.
   */
  openStream(preamble: string, events: WriterCallbacks): SseWriter | undefined {
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
      this.#res.write(preamble);
    });
    this.#stream = new SseWriter(this.#res, events);
    this.#end(200);
    return this.#stream;
  }

  /** Responds with the documented error, in the envelope of the route. */
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

  /** Writes status line and all headers as one string: one native call instead of one per header. */
  #head(status: number, headers: Headers): string {
    let head = `${statusLine(status)}\r\nX-Trace-Id: ${this.request.traceId}`;
    if (this.rateLimit !== undefined) {
      head += `\r\nRateLimit-Policy: ${this.rateLimit.policy}\r\nRateLimit: ${this.rateLimit.state}`;
    }
    for (const [name, value] of headers) head += `\r\n${name}: ${withoutLineBreaks(value)}`;
    return head;
  }

  /** Runs an endpoint or a callback of it. A throw is a bug: it is logged, and the client gets a 500. */
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
