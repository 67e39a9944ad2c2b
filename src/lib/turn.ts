import { slicesOf } from './slices.js';

/** Waits for the next turn of the event loop, so that long work lets other work in between. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Does `work` for each item, for `perTurn` of them in each turn. */
export async function eachByTurns<T>(
  items: readonly T[],
  perTurn: number,
  work: (item: T) => void,
): Promise<void> {
  for (const slice of slicesOf(items, perTurn)) {
    for (const item of slice) work(item);
    await nextTurn();
  }
}

/** Work that takes several turns of the event loop: each `next` does a part of it. */
export type Steps = Generator<void, void, void>;

/** Takes all steps at once. @returns what they return. */
export function takeAll<T>(steps: Iterator<unknown, T>): T {
  for (;;) {
    const { value, done } = steps.next();
    if (done === true) return value;
  }
}

/** Takes steps to their end, one in each turn. @returns what they return. */
export async function stepByTurns<T>(steps: Iterator<unknown, T>): Promise<T> {
  for (;;) {
    const { value, done } = steps.next();
    if (done === true) return value;
    await nextTurn();
  }
}
