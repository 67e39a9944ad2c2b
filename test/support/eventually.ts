/** Polls for a change that no event announces, with a bound on the time. */
const intervalMs = 10;

/** @returns the first answer of `ask` that is neither undefined, null nor false. */
export async function eventually<T>(
  ask: () => T | Promise<T>,
  boundMs = 60_000,
): Promise<Exclude<T, undefined | null | false>> {
  const end = performance.now() + boundMs;
  for (;;) {
    const answer = await ask();
    if (answer !== undefined && answer !== null && answer !== false) {
      return answer as Exclude<T, undefined | null | false>;
    }
    if (performance.now() > end)
      throw new Error(`still not so after ${boundMs} ms: ${String(ask)}`);
    await new Promise((resolve) => setTimeout(resolve, intervalMs));
  }
}

/** Asks again until the answer will do; fails the test's promise when it never does. */
export async function until<T>(
  ask: () => Promise<T>,
  isEnough: (answer: T) => boolean,
): Promise<T> {
  const deadline = performance.now() + 60_000;
  for (;;) {
    const answer = await ask();
    if (isEnough(answer)) return answer;
    if (performance.now() > deadline) throw new Error(`still: ${JSON.stringify(answer)}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
