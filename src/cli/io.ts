/** What a command sees of the world outside: a process binds it to its own, a test to its own. */
import type { Readable } from 'node:stream';

export interface Io {
  /**
   * The outcome, and nothing else.
   * @param ifUnread goes to stderr if the reader is gone; without it, a reader that has gone has read enough.
   */
  stdout(text: string, ifUnread?: string): void;
  /** What a command does that runs until it is stopped: not kept for a reader that has stopped. */
  activity(text: string): void;
  /** What went wrong, and questions. */
  stderr(text: string): void;
  /** Opened when it is asked for: an open one would keep the process up. */
  stdin(): Readable & { readonly isTTY?: boolean };
  /** Whether standard output is a terminal. */
  readonly isTTY: boolean;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Sets the code with which the command ends; without it, it is `exitCodes.done`. */
  exitCode(code: number): void;
}
