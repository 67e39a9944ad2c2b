/** Throws when a condition that only a bug of ours can break does not hold. */
export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new Error(`assertion failed: ${message}`);
}
