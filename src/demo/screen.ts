/** Prints the steps of the demo, numbered, with their output and duration: for people, or as JSON lines. */
import { errorText } from '../lib/error-text.js';
import type { Clock } from '../lib/clock.js';

/** A check of a step failed, or the step may not begin; the demo exits with 1. */
class StepFailed extends Error {
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

export interface ScreenDeps {
  readonly clock: Clock;
  readonly write: (text: string) => void;
  /** Whether no further step may begin. */
  readonly isStopped: () => boolean;
}

const width = 66;

interface Step {
  readonly step: number;
  readonly title: string;
  /** Undefined for a step that failed. */
  readonly durationMs: number | undefined;
  readonly output: readonly string[];
}

export function createScreen(deps: ScreenDeps): Screen {
  const line = (text = ''): void => deps.write(`${text}\n`);
  return screenOf(deps, line, ({ step, title, durationMs, output }) => {
    const ending = durationMs === undefined ? 'failed' : `${durationMs.toFixed(1)} ms`;
    line(`${String(step).padStart(2)}  ${title.padEnd(width)}${ending.padStart(11)}`);
    for (const text of output) line(`      ${text}`);
  });
}

/** Each step is a line of JSON; what is said between them is for people. */
export function createJsonScreen(deps: ScreenDeps): Screen {
  return screenOf(
    deps,
    () => undefined,
    (step) => deps.write(`${JSON.stringify({ ...step, ok: step.durationMs !== undefined })}\n`),
  );
}

function screenOf(
  { clock, isStopped }: ScreenDeps,
  line: Screen['line'],
  show: (step: Step) => void,
): Screen {
  let stepCount = 0;
  return {
    line,
    get stepCount() {
      return stepCount;
    },
    async step(title, work) {
      if (isStopped()) throw new StepFailed('the demo was stopped');
      const step = ++stepCount;
      const output: string[] = [];
      const startedAt = clock.monotonic();
      let durationMs: number | undefined;
      try {
        const result = await work((text) => output.push(text));
        durationMs = clock.monotonic() - startedAt;
        return result;
      } catch (error) {
        output.push(`✗ ${errorText(error)}`);
        throw error;
      } finally {
        show({ step, title, durationMs, output });
      }
    },
  };
}
