/** Prints the steps of the demo, numbered, with their output and duration. */
import { errorText } from '../lib/error-text.js';
import type { Clock } from '../lib/clock.js';

/** A check of a step failed; the demo exits with 1. */
export class StepFailed extends Error {
  override readonly name = 'StepFailed';
}

export function check(condition: unknown, message: string): asserts condition {
  if (!condition) throw new StepFailed(message);
}

export interface Screen {
  line(text?: string): void;
  /** Runs a step and prints its title, duration and output. Prints and rethrows an error. */
  step<T>(title: string, work: (print: (text: string) => void) => Promise<T>): Promise<T>;
  readonly stepCount: number;
}

const width = 66;

export function createScreen(clock: Clock, write: (text: string) => void): Screen {
  let stepCount = 0;

  function line(text = ''): void {
    write(`${text}\n`);
  }

  return {
    line,
    get stepCount() {
      return stepCount;
    },
    async step(title, work) {
      const number = String(++stepCount).padStart(2);
      const output: string[] = [];
      const startedAt = clock.monotonic();
      let ending = 'failed';
      try {
        const result = await work((text) => output.push(text));
        ending = `${(clock.monotonic() - startedAt).toFixed(1)} ms`;
        return result;
      } catch (error) {
        output.push(`✗ ${errorText(error)}`);
        throw error;
      } finally {
        line(`${number}  ${title.padEnd(width)}${ending.padStart(11)}`);
        for (const text of output) line(`      ${text}`);
      }
    },
  };
}
