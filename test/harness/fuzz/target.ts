/** A target of the fuzz harness: one surface of the gateway. */
import type { HarnessRun } from '../harness-run.js';

export type FuzzRun = HarnessRun<{
  readonly target: string;
  readonly inputs: number;
  readonly attacks: string;
}>;

/**
 * Sends `inputs` inputs and compares the gateway's behaviour with a model. Uses its own child of the
 * run's chance and its own directory in the run's.
 * @returns a summary for the run's log, such as `300 inputs, 12 MB at most`.
 */
export type Target = (run: FuzzRun, inputs: number) => Promise<string>;
