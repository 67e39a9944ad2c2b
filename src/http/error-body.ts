/** The body of a refusal, in the envelope of its route. */
import { errors, type ErrorCode, type FieldError } from '../errors.js';
import type { Route } from '../routes.js';

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

export function errorBody(
  request: { readonly route: Route | undefined; readonly traceId: string },
  code: ErrorCode,
  failure: Failure,
): string {
  const message = failure.message ?? errors[code].message;
  if (request.route?.envelope === 'legacy') {
    return JSON.stringify(
      failure.details === undefined
        ? { code, message }
        : { code, message, errors: failure.details },
    );
  }
  const { details, requestId } = failure;
  const text = failure.message === undefined ? messageTexts[code] : JSON.stringify(message);
  // A code and a trace id have no character that JSON escapes.
  let error = `{"error":{"code":"${code}","message":${text},"traceId":"${request.traceId}"`;
  if (details !== undefined) error += `,"details":${JSON.stringify(details)}`;
  return requestId === undefined
    ? `${error}}}`
    : `${error}},"requestId":${JSON.stringify(requestId)}}`;
}

/** The standard messages as JSON. */
const messageTexts = Object.fromEntries(
  Object.entries(errors).map(([code, { message }]) => [code, JSON.stringify(message)]),
) as Readonly<Record<ErrorCode, string>>;
