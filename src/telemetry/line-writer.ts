/**
 * Writes lines to an output that may take none for now, such as a pipe whose reader has stopped. The gateway never
 * waits for it, since a client without a credential can make it log. Owns the lines that wait, in order and each
 * whole, for the life of the process; beyond `waitingBytesMax` lines are dropped and counted.
 */
import type { Clock } from '../lib/clock.js';

export interface LineWriterDeps {
  /** As `fs.writeSync`, without blocking. @returns how many bytes were taken; throws when none. */
  readonly write: (bytes: Uint8Array) => number;
  readonly clock: Clock;
  /** Called with the number of dropped lines, once the output has taken all that waited. */
  readonly onDropped: (lines: number) => void;
}

export interface LineWriter {
  write(line: string): void;
  /** For the exit: blocks until a reader has taken everything, `flushMsMax` at most. */
  flush(): void;
}

export const waitingBytesMax = 1024 * 1024;
/** Polled, because an asynchronous write would hold one of libuv's four threads until the reader goes on. */
export const retryMs = 20;
/** With `stopTimeoutMs`, less than the 10 s that the documents promise for a stop. */
const flushMsMax = 500;
const flushRetryMs = 2;

export function createLineWriter({ write, clock, onDropped }: LineWriterDeps): LineWriter {
  const waiting: Uint8Array[] = [];
  let waitingBytes = 0;
  let dropped = 0;
  let isRetrying = false;

  /** @returns the code of the error that ended it, while lines still wait. */
  function drain(): string | undefined {
    try {
      for (let [first] = waiting; first !== undefined; [first] = waiting) {
        const count = write(first);
        waitingBytes -= count;
        if (count < first.length) waiting[0] = first.subarray(count);
        else waiting.shift();
      }
    } catch (error) {
      // Tried again after any error: a disk may get space, a reader may go on.
      retryLater();
      return (error as NodeJS.ErrnoException).code;
    }
    tellDropped();
    // While the timer waits, as at the exit, the line that tells it waits, too.
    return waiting.length > 0 ? drain() : undefined;
  }

  function retryLater(): void {
    if (isRetrying) return;
    isRetrying = true;
    clock.setTimer(retryMs, () => {
      isRetrying = false;
      drain();
    });
  }

  function tellDropped(): void {
    if (dropped === 0) return;
    const lines = dropped;
    dropped = 0;
    onDropped(lines);
  }

  return {
    write(line) {
      const bytes = Buffer.from(line);
      if (waitingBytes + bytes.length > waitingBytesMax) return void dropped++;
      waiting.push(bytes);
      waitingBytes += bytes.length;
      if (!isRetrying) drain();
    },
    flush() {
      const end = clock.monotonic() + flushMsMax;
      while (drain() === 'EAGAIN' && clock.monotonic() < end) block(flushRetryMs);
    },
  };
}

function block(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
