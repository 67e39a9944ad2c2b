/** Defines a move: a pure function that changes an execution for one cause. Only the execution book applies moves. */
import type { Execution } from '../model/execution.js';

/**
 * @param now wall time in Unix milliseconds.
 * @returns the changed execution; undefined when the state tables forbid the transition or nothing changes.
 */
export type Move = (execution: Execution, now: number) => Execution | undefined;
