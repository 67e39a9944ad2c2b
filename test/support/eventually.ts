/** Waits for what comes by itself but announces itself to nobody: asks again and again, with a bound. */
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
