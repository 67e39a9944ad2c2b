/** The port through which events reach an open SSE response; `http/sse-writer` implements it. */

/** The gateway `ended` or `aborted` the response, or the client or the network closed it (`left`). */
export type WriterEnd = 'ended' | 'aborted' | 'left';

export interface WriterCallbacks {
  /** The socket is writable again. */
  readonly onDrained: () => void;
  /** The response has ended; called once. */
  readonly onClosed: (end: WriterEnd) => void;
}

export interface EventWriter {
  /** Backpressure: while true, the caller must not write. */
  isBlocked(): boolean;
  isClosed(): boolean;
  /** The bytes are valid only during the call. */
  write(bytes: Uint8Array): void;
  /** Writes a comment, so that proxies and clients do not close an idle stream. */
  keepAlive(): void;
  /** Ends the response, after `finalChunk` if the socket is writable. */
  end(finalChunk?: string): void;
  /** Closes the connection; the client resumes with its cursor. */
  abort(): void;
}
