/** Checks an internal invariant. @throws when it does not hold, which is a bug. */
export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new Error(`assertion failed: ${message}`);
}
