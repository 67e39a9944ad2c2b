/** Polls for a change that no event announces, with a bound on the time. */
import { setTimeout as sleep } from 'node:timers/promises';

/** Most changes come within milliseconds; the others are asked for less and less often. */
const pauses = { firstMs: 5, factor: 1.3, lastMs: 60 };

/** @returns the first answer of `ask` that is neither undefined, null nor false. */
export async function eventually<T>(
  ask: () => T | Promise<T>,
  boundMs = 60_000,
): Promise<Exclude<T, undefined | null | false>> {
  const end = performance.now() + boundMs;
  for (let pauseMs = pauses.firstMs; ; pauseMs = longer(pauseMs)) {
    const answer = await ask();
    if (answer !== undefined && answer !== null && answer !== false) {
      return answer as Exclude<T, undefined | null | false>;
    }
    if (performance.now() > end)
      throw new Error(`still not so after ${boundMs} ms: ${String(ask)}`);
    await sleep(pauseMs);
  }
}

/** Asks again until the answer will do; fails the test's promise when it never does. */
export async function until<T>(
  ask: () => Promise<T>,
  isEnough: (answer: T) => boolean,
): Promise<T> {
  const deadline = performance.now() + 60_000;
  for (let pauseMs = pauses.firstMs; ; pauseMs = longer(pauseMs)) {
    const answer = await ask();
    if (isEnough(answer)) return answer;
    if (performance.now() > deadline) throw new Error(`still: ${JSON.stringify(answer)}`);
    await sleep(pauseMs);
  }
}

function longer(pauseMs: number): number {
  return Math.min(pauses.lastMs, pauseMs * pauses.factor);
}
