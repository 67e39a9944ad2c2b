/**
 * What a caller was granted, request by request, and whether that kept a limit of so many in any
 * minute. The server decided between the moment when a request left and the one when its answer came;
 * only what is certain within that is held against it.
 */

/** Milliseconds since the first request was meant to be sent. */
export type Grant = readonly [intendedMs: number, answeredMs: number];

/** Grants whose requests were meant for each window of this length, from the start on. */
export function grantsByWindow(
  grants: readonly Grant[],
  windowMs: number,
  windows: number,
): number[] {
  const counts = new Array<number>(windows).fill(0);
  for (const [intendedMs] of grants) {
    // Intended moments are multiples of an interval and may miss the window's edge by a rounding.
    const window = Math.floor((intendedMs + 1e-6) / windowMs);
    if (window < windows) counts[window] = (counts[window] as number) + 1;
  }
  return counts;
}

/** How often more than `limit` grants were certainly given within one window, wherever it begins. */
export function excesses(grants: readonly Grant[], windowMs: number, limit: number): number {
  let count = 0;
  for (let first = 0; first + limit < grants.length; first++) {
    const [intendedMs] = grants[first] as Grant;
    const [, answeredMs] = grants[first + limit] as Grant;
    if (answeredMs - intendedMs < windowMs) count++;
  }
  return count;
}
