/** How a command that runs until it is stopped ends: by a signal, a closed output, or a reason of its own. */
import { keptAlive } from '../lib/kept-alive.js';
import { exitCodes } from './command.js';

export interface Ending {
  /** The first reason to end counts. */
  end(exitCode: number): void;
  /** Keeps the process alive until there is a reason to end. */
  wait(): Promise<number>;
}

export function createEnding(): Ending {
  let end: (exitCode: number) => void = () => undefined;
  const ended = new Promise<number>((resolve) => (end = resolve));
  return {
    end,
    async wait() {
      const stop = (): void => end(exitCodes.done);
      process.once('SIGINT', stop);
      process.once('SIGTERM', stop);
      // The reader of the output has closed it.
      process.stdout.on('error', stop);
      return keptAlive(ended);
    },
  };
}
