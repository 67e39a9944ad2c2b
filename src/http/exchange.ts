/**
 * One request and its response: the only HTTP object that endpoints use. Enforces what the native server does
 * not: at most one response, none after an abort, every write corked, no line break in a header value. Lives
 * from the request's first tick until the response is written or the client disconnects.
 */
import { errors, type ErrorCode } from '../errors.js';
import type { Trail } from '../model/trail.js';
import { addressText, partitionOf } from '../quota/partition.js';
import type { Route } from '../routes.js';
import type { WriterCallbacks } from '../events/event-writer.js';
import type { AddressOf } from './address-of.js';
import { answerHead, type RateLimit } from './answer-head.js';
import { errorBody, type Failure } from './error-body.js';
import { type OwedBody, type UnsentBounds, writeBody } from './body-writer.js';
import { SseWriter } from './sse-writer.js';
import type { RequestHead } from './request-head.js';
import { type Headers, headersOfStatus, noHeaders } from './status-line.js';
import type { HttpResponse } from './uws.js';

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
  /** The turn of the event loop in which the request came. */
  readonly turn: number;
}

/** What an exchange needs of the server. */
export interface ExchangeHost extends UnsentBounds {
  /** The client's address, of 4 or 16 bytes, from its socket and `X-Forwarded-For`. */
  readonly addressOf: AddressOf;
  /** Whether the event loop is still in that turn. */
  isIn(turn: number): boolean;
  /** Whether an answer to a request of that turn has to wait for the next one. */
  mustWait(turn: number): boolean;
  /** Whether the connection may go on after the answer to a HEAD. */
  keepsAfterHead(exchange: Exchange): boolean;
  /** Called for every refusal, before its response is written. */
  refused(exchange: Exchange, code: ErrorCode): void;
  /** Called once, with the status, or 0 when the client disconnected before its response. */
  ended(exchange: Exchange, status: number): void;
  /** Called when an endpoint throws, before the client gets a 500. */
  failed(exchange: Exchange, error: unknown): void;
}

/** A body that is being received. */
interface Reading {
  readonly bytesMax: number;
  /** The error for a larger body. */
  readonly refusal: ErrorCode;
  /** `Content-Length`; NaN or 0 if it is missing or no number. */
  readonly announced: number;
  /** Bytes so far. */
  length: number;
  readonly then: (body: Uint8Array) => void | Promise<void>;
}

type Close = Failure['close'];

const noFailure: Failure = {};
const noBytes = new Uint8Array(0);

export class Exchange {
  /** The gate sets it once the key is known; then every response has it. */
  rateLimit: RateLimit | undefined;
  /** The caller, once the gate or the endpoint knows it. */
  userId: string | undefined;
  /** The caller's API key. */
  keyId: number | undefined;
  readonly #res: HttpResponse;
  readonly #host: ExchangeHost;
  #isOver = false;
  /** The native server is in a call for this request, and sends what is written when that call returns. */
  #isCorked = false;
  /** The native response is complete: it can neither drain nor be aborted. */
  #isEnded = false;
  #owed: OwedBody | undefined;
  /** The response waits for the next turn. */
  #isWaiting = false;
  #body: Buffer | undefined;
  #stream: SseWriter | undefined;
  #whenOver: (() => void) | undefined;

  constructor(
    res: HttpResponse,
    host: ExchangeHost,
    readonly head: RequestHead,
    readonly request: RequestContext,
  ) {
    this.#res = res;
    this.#host = host;
  }

  /**
   * Runs the work of the native server's call for a new request. The client cannot leave before that call
   * returns; the native server then requires a listener for it, unless the response is over
   * (native-notes/request-lifetimes.md).
   */
  begin(work: (exchange: this) => void): void {
    this.#isCorked = true;
    try {
      work(this);
    } finally {
      this.#isCorked = false;
      if (!this.#isEnded && this.#stream?.isClosed() !== true) {
        this.#res.onAborted(() => {
          this.#end(0);
          this.#owed?.drop();
          this.#stream?.closed();
        });
      }
    }
  }

  /** True once a response was given or the client disconnected; later calls do nothing. */
  get isOver(): boolean {
    return this.#isOver || this.#isWaiting;
  }

  /** Whether the turn in which the request came is not over. */
  get isInFirstTurn(): boolean {
    return this.#host.isIn(this.request.turn);
  }

  /** The client's full address, as text; `unknown` once the response is over. */
  get clientAddress(): string {
    return addressText(this.address);
  }

  /** Runs `task` once, when the response was given or the client disconnected; at once if that has happened. */
  onOver(task: () => void): void {
    if (this.#isOver) task();
    else this.#whenOver = task;
  }

  /** The client's rate-limit partition for unauthenticated requests. Read it before the response. */
  get partition(): string {
    return partitionOf(this.address);
  }

  /** The client's address, 4 or 16 bytes; empty once the response is over. */
  get address(): Uint8Array {
    return this.#isOver ? noBytes : this.#host.addressOf(this.#res, this.head.forwardedFor);
  }

  /** What the record of a signal or a cancel keeps of its request. Read it before the response. */
  trailOf(keyId: number): Trail {
    return { keyId, traceId: this.request.traceId, clientAddress: this.clientAddress };
  }

  /**
   * Passes the whole body to `then`, or responds with 413, or with another `refusal` of a body above `bytesMax`. Call it
   * within the request's first tick: the native server discards body chunks without a listener. The bytes are valid
   * only until `then` returns.
   */
  readBody(
    bytesMax: number,
    then: (body: Uint8Array) => void | Promise<void>,
    refusal: ErrorCode = 'request_body_too_large',
  ): void {
    const announced = Number(this.head.contentLength);
    if (announced > bytesMax) {
      this.fail(refusal, { close: 'announced' });
      return;
    }
    const reading: Reading = { bytesMax, refusal, announced, length: 0, then };
    this.#res.onData((chunk, isLast) => {
      if (this.isOver) return;
      this.#isCorked = true;
      this.#take(reading, chunk, isLast);
      this.#isCorked = false;
    });
  }

  #take(reading: Reading, chunk: ArrayBuffer, isLast: boolean): void {
    const { bytesMax, refusal, announced, length, then } = reading;
    if (length + chunk.byteLength > bytesMax) {
      this.#body = undefined;
      this.fail(refusal, { close: 'announced' });
      return;
    }
    if (isLast && length === 0) {
      this.run(() => then(chunk.byteLength === 0 ? noBytes : new Uint8Array(chunk)));
      return;
    }
    this.#body ??= Buffer.allocUnsafe(announced > 0 ? announced : Math.min(bytesMax, 4096));
    if (length + chunk.byteLength > this.#body.length)
      this.#body = Buffer.concat([this.#body.subarray(0, length)], bytesMax);
    this.#body.set(new Uint8Array(chunk), length);
    reading.length += chunk.byteLength;
    if (!isLast) return;
    const body = this.#body.subarray(0, reading.length);
    this.run(() => then(body));
  }

  /** Responds with JSON text. Reads bytes only during the call. */
  reply(status: number, body: string | Uint8Array, headers = noHeaders): void {
    if (!this.isOver) this.#answer(status, body, headers, undefined);
  }

  #answer(status: number, body: string | Uint8Array, headers: Headers, close: Close): void {
    this.#isWaiting = this.#host.mustWait(this.request.turn);
    if (!this.#isWaiting) return this.#write(status, body, headers, close);
    // The caller may use its bytes again for the next answer.
    const kept = typeof body === 'string' ? body : body.slice();
    setImmediate(() => this.#write(status, kept, headers, close));
  }

  #write(status: number, body: string | Uint8Array, headers: Headers, close: Close): void {
    if (this.#isOver) return;
    const isLast = close === 'forced' || (this.request.isHead && !this.#host.keepsAfterHead(this));
    // For `isLast` the native server writes `Connection: close` itself. Other last requests do not end that way:
    // for a client that does not read, it would buffer without a bound (native-notes/http-parser.md).
    const saysClose = !isLast && (close === 'announced' || this.head.isLastRequest);
    const head = this.#head(status, headers, body.length > 0, saysClose);
    if (this.#isCorked) this.#put(head, body, isLast);
    else this.#res.cork(() => this.#put(head, body, isLast));
    this.#isEnded = this.#owed === undefined;
    this.#end(status);
  }

  /** @param isLast whether the connection ends with this response. */
  #put(head: Uint8Array, body: string | Uint8Array, isLast: boolean): void {
    const res = this.#res;
    res.writeStatus(head);
    if (isLast) {
      res.end(this.request.isHead ? '' : body, true);
    } else if (body.length === 0) {
      // A 204 must not have a Content-Length, nor may HEAD tell one of a stream.
      res.endWithoutBody();
    } else if (this.request.isHead) {
      // With an argument, `endWithoutBody` writes a length of its own.
      res.writeHeader('Content-Length', String(Buffer.byteLength(body))).endWithoutBody();
    } else {
      this.#owed = writeBody(res, body, this.#host);
    }
  }

  /**
   * Responds with 200 and keeps the response open for events. @returns undefined for a HEAD or a closed
   * client.
   */
  openStream(preamble: string, events: WriterCallbacks): SseWriter | undefined {
    if (this.isOver) return undefined;
    const headers = [
      ['Content-Type', 'text/event-stream'],
      ['Cache-Control', 'no-store'],
      ['X-Accel-Buffering', 'no'],
    ] as const;
    if (this.request.isHead) {
      this.reply(200, '', headers);
      return undefined;
    }
    const head = this.#head(200, headers, false, this.head.isLastRequest);
    this.#res.cork(() => {
      this.#res.writeStatus(head);
      this.#res.write(preamble);
    });
    this.#stream = new SseWriter(this.#res, events);
    this.#end(200);
    return this.#stream;
  }

  /** Responds with the documented error, in the envelope of the route. */
  fail(code: ErrorCode, failure = noFailure): void {
    if (this.isOver) return;
    this.#tell(code);
    const { status } = errors[code];
    const headers = headersOf(status, failure);
    const body = errorBody(this.request, code, failure);
    this.#answer(status, body, headers, failure.close);
  }

  #head(status: number, headers: Headers, isJson: boolean, saysClose: boolean): Uint8Array {
    const { traceId } = this.request;
    return answerHead(status, { traceId, rateLimit: this.rateLimit, headers, isJson, saysClose });
  }

  /** Runs an endpoint or a callback of it. A throw is a bug: it is logged, and the client gets a 500. */
  run(work: (exchange: this) => void | Promise<void>): void {
    try {
      work(this)?.catch((error: unknown) => this.#onError(error));
    } catch (error) {
      this.#onError(error);
    }
  }

  /** Tells the host of a refusal. A failure there is logged, and must not prevent the answer. */
  #tell(code: ErrorCode): void {
    try {
      this.#host.refused(this, code);
    } catch (error) {
      this.#host.failed(this, error);
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
    this.#whenOver?.();
  }
}

function headersOf(status: number, { retryAfter, allow }: Failure): Headers {
  const fixed = headersOfStatus(status);
  if (retryAfter === undefined && allow === undefined) return fixed;
  const headers: Headers[number][] = [];
  if (retryAfter !== undefined) {
    headers.push(['Retry-After', String(Math.max(1, Math.ceil(retryAfter)))]);
  }
  if (allow !== undefined) headers.push(['Allow', allow]);
  headers.push(...fixed);
  return headers;
}
