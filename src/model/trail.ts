/**
 * Defines who asked for a signal or a cancel, so that an order can be traced to its key and to a line of the
 * log. A field is absent in records of versions that did not write it.
 */
export interface Trail {
  /** The API key. */
  readonly keyId?: number | undefined;
  /** `X-Trace-Id` of the response. */
  readonly traceId?: string | undefined;
  /** IP address; behind a trusted proxy the one that the proxy names. */
  readonly clientAddress?: string | undefined;
}
