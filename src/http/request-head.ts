/**
 * What one pass over a request's headers collects. `req` is gone after the first tick and its
 * header look-ups are slow, so everything that any endpoint needs is taken here, once, with the
 * number of times each header came: a doubled header is an error, never a choice.
 */
import type { HttpRequest } from './uws.js';

export class RequestHead {
  authorization = '';
  authorizationCount = 0;
  contentType = '';
  contentTypeCount = 0;
  contentLength = '';
  contentLengthCount = 0;
  hostCount = 0;
  transferEncoding = '';
  transferEncodingCount = 0;
  idempotencyKey = '';
  idempotencyKeyCount = 0;
  lastEventId = '';
  lastEventIdCount = 0;
  /** Empty if there are several. */
  traceparent = '';
  traceparentCount = 0;
  forwardedFor = '';
  connection = '';
  /** The first, if there are several. */
  expect = '';
  expectCount = 0;

  constructor(req: HttpRequest) {
    req.forEach((name, value) => this.#take(name, value));
  }

  #take(name: string, value: string): void {
    switch (name) {
      case 'host':
        this.hostCount++;
        break;
      case 'authorization':
        this.authorization = value;
        this.authorizationCount++;
        break;
      case 'content-type':
        this.contentType = value;
        this.contentTypeCount++;
        break;
      case 'content-length':
        this.contentLength = value;
        this.contentLengthCount++;
        break;
      case 'transfer-encoding':
        this.transferEncoding = value;
        this.transferEncodingCount++;
        break;
      case 'idempotency-key':
        this.idempotencyKey = value;
        this.idempotencyKeyCount++;
        break;
      case 'last-event-id':
        this.lastEventId = value;
        this.lastEventIdCount++;
        break;
      case 'traceparent':
        this.traceparent = this.traceparentCount++ === 0 ? value : '';
        break;
      case 'x-forwarded-for':
        this.forwardedFor = joined(this.forwardedFor, value);
        break;
      case 'connection':
        this.connection = joined(this.connection, value);
        break;
      case 'expect':
        if (this.expectCount++ === 0) this.expect = value;
        break;
    }
  }

  /**
   * Whether two parsers could disagree where the request ends, and the native parser lets it through, or
   * refuses it only after the handler has run. Such a request is refused and its connection closed, against
   * request smuggling. Only the older native parser lets two hosts through.
   */
  get isAmbiguous(): boolean {
    return (
      this.contentLengthCount > 1 ||
      this.hostCount > 1 ||
      (this.contentLengthCount === 1 && !wholeLength.test(this.contentLength)) ||
      this.transferEncodingCount > 1 ||
      (this.transferEncodingCount === 1 && this.transferEncoding.toLowerCase() !== 'chunked') ||
      (this.transferEncodingCount === 1 && this.contentLengthCount > 0)
    );
  }

  /**
   * The native server answers the first `Expect` alone, and only in these letters, with 100; for any other the client
   * would hold its body back until the connection is idle.
   */
  get hasUnmetExpectation(): boolean {
    if (this.expectCount === 0 || this.expect === '100-continue') return false;
    return this.expect !== '' || this.expectCount > 1;
  }

  /** The credential of a single well-formed `Authorization: Bearer …`, else ''. */
  get bearer(): string {
    if (this.authorizationCount !== 1) return '';
    const value = this.authorization;
    const isBearer = value.startsWith('Bearer ') || bearerScheme.test(value);
    return isBearer ? value.slice(7).trim() : '';
  }

  /** Whether a body is announced, of a length that may be unknown. */
  get hasBody(): boolean {
    return this.transferEncodingCount > 0 || Number(this.contentLength) > 0;
  }

  /** Whether the client says that this is the last request on its connection. */
  get isLastRequest(): boolean {
    return this.connection !== '' && closeOption.test(this.connection);
  }

  get isJson(): boolean {
    if (this.contentTypeCount !== 1) return false;
    return this.contentType === 'application/json' || jsonType.test(this.contentType);
  }
}

/** Joins the headers of one list, in their order. */
function joined(list: string, value: string): string {
  return list === '' ? value : `${list}, ${value}`;
}

/** `close` among words that commas separate. */
const closeOption = /(?:^|,)[ \t]*close[ \t]*(?:,|$)/i;

const bearerScheme = /^bearer /i;

/** Digits alone, as many as the native parser takes. */
const wholeLength = /^[0-9]{1,18}$/;

/** `application/json`, with parameters such as a charset; UTF-8 is the only one JSON knows. */
const jsonType = /^application\/json[ \t]*(?:;|$)/i;
