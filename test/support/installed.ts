/** Programs that a test needs and that not every machine has: without one it is skipped, and says so. */
import { spawnSync } from 'node:child_process';

/**
 * For a subtest's `skip`.
 * @param asks arguments with which the program ends at once and with success.
 * @returns false when the program is there, otherwise why the test cannot run.
 */
export function missing(program: string, asks: readonly string[]): string | false {
  const { status, error } = spawnSync(program, asks, { stdio: 'ignore' });
  if (status === 0) return false;
  return `${program} is not installed (${error?.message ?? `it ended with status ${status ?? 'none'}`})`;
}
