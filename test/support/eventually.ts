/** Polls for a change that no event announces, with a bound on the time. */
import { setTimeout as sleep } from 'node:timers/promises';

/** Most changes come within milliseconds; the others are asked for less and less often. */
const pauses = { firstMs: 5, factor: 1.3, lastMs: 60 };
const patienceMs = 60_000;

/** @returns the first answer of `ask` that is neither undefined, null nor false. */
export async function eventually<T>(
  ask: () => T | Promise<T>,
  boundMs = patienceMs,
): Promise<Exclude<T, undefined | null | false>> {
  const isSo = (answer: T): boolean => answer !== undefined && answer !== null && answer !== false;
  const complaint = (): string => `still not so after ${boundMs} ms: ${String(ask)}`;
  const answer = await poll(ask, isSo, boundMs, complaint);
  return answer as Exclude<T, undefined | null | false>;
}

/** Asks again until the answer will do; fails the test's promise when it never does. */
export function until<T>(ask: () => Promise<T>, isEnough: (answer: T) => boolean): Promise<T> {
  return poll(ask, isEnough, patienceMs, (answer) => `still: ${JSON.stringify(answer)}`);
}

async function poll<T>(
  ask: () => T | Promise<T>,
  isEnough: (answer: T) => boolean,
  boundMs: number,
  complaintOn: (answer: T) => string,
): Promise<T> {
  const end = performance.now() + boundMs;
  for (let { firstMs: pauseMs } = pauses; ; pauseMs *= pauses.factor) {
    const answer = await ask();
    if (isEnough(answer)) return answer;
    if (performance.now() > end) throw new Error(complaintOn(answer));
    await sleep(Math.min(pauses.lastMs, pauseMs));
  }
}
