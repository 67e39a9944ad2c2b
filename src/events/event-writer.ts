/** Where one stream's events are written: what the HTTP side provides for an open answer. */

/** `ended` and `aborted` by the gateway, `left` by the client or the network. */
export type WriterEnd = 'ended' | 'aborted' | 'left';

export interface WriterCallbacks {
  /** The socket takes writes again. */
  readonly onDrained: () => void;
  /** The answer has ended; called once. */
  readonly onClosed: (end: WriterEnd) => void;
}

export interface EventWriter {
  /** While true nothing may be written. */
  isBlocked(): boolean;
  isClosed(): boolean;
  write(bytes: Uint8Array): void;
  /** Writes a comment, so that proxies and clients keep a silent stream open. */
  keepAlive(): void;
  /** Ends the answer, after `lastWords` if the socket still takes writes. */
  end(lastWords?: string): void;
  /** Breaks the connection; the reader resumes with its cursor. */
  abort(): void;
}
