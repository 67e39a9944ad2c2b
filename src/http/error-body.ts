/** The body of a refusal, in the envelope of its route. */
import { errors, type ErrorCode, type FieldError } from '../errors.js';
import type { Route } from '../routes.js';
import { TextBytes, constantBytes } from '../lib/text-bytes.js';

export interface Failure {
  readonly details?: readonly FieldError[];
  /** Seconds; the header has whole ones, rounded up, and at least 1. */
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

const bytes = new TextBytes();

/** @returns the JSON; valid until the next call. */
export function errorBody(
  request: { readonly route: Route | undefined; readonly traceId: string },
  code: ErrorCode,
  failure: Failure,
): Uint8Array {
  const { details, requestId, message } = failure;
  const isLegacy = request.route?.envelope === 'legacy';
  const start = (isLegacy ? legacyStarts : starts)[code];
  bytes.begin().raw(start.code);
  if (message === undefined) bytes.raw(start.message);
  else bytes.json(message);
  if (!isLegacy) bytes.raw(traceIdName).text(request.traceId).raw(quote);
  if (details !== undefined) {
    bytes.raw(isLegacy ? errorsName : detailsName);
    for (let i = 0; i < details.length; i++) {
      const { field, code } = details[i] as FieldError;
      bytes.raw(i === 0 ? firstField : nextField).json(field);
      bytes.raw(codeName).json(code).raw(brace);
    }
    bytes.raw(bracket);
  }
  bytes.raw(brace);
  if (isLegacy) return bytes.take();
  if (requestId !== undefined) bytes.raw(requestIdName).json(requestId);
  return bytes.raw(brace).take();
}

const quote = constantBytes('"');
const brace = constantBytes('}');
const bracket = constantBytes(']');
const traceIdName = constantBytes(',"traceId":"');
const detailsName = constantBytes(',"details":[');
const errorsName = constantBytes(',"errors":[');
const firstField = constantBytes('{"field":');
const nextField = constantBytes(',{"field":');
const codeName = constantBytes(',"code":');
const requestIdName = constantBytes(',"requestId":');

type Starts = Readonly<
  Record<ErrorCode, { readonly code: Uint8Array; readonly message: Uint8Array }>
>;
const starts = startsWith('{"error":{');
const legacyStarts = startsWith('{');

/** What an error's bodies begin with, and its standard message, which follows. */
function startsWith(opening: string): Starts {
  return Object.fromEntries(
    Object.entries(errors).map(([code, { message }]) => [
      code,
      {
        code: constantBytes(`${opening}"code":"${code}","message":`),
        message: constantBytes(JSON.stringify(message)),
      },
    ]),
  ) as Starts;
}
