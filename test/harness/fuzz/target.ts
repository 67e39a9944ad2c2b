/** What the fuzz program plays: one surface of the gateway, with inputs made from the trial's seed. */
import type { Trial } from '../harness-run.js';

export type FuzzTrial = Trial<'target' | 'inputs'>;

/**
 * Plays so many inputs and holds what the gateway does with each against what the generator knows
 * of it. Takes its own child of the trial's chance, a folder of its own in the trial's, and gives
 * `atExit` what it starts.
 * @returns what is to be said at the end, such as `300 inputs, 12 MB at most`.
 */
export type Target = (trial: FuzzTrial, inputs: number) => Promise<string>;
