/** Waits for the next turn of the event loop, so that long work lets other work in between. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Takes steps to their end, one in each turn. */
export async function stepByTurns(steps: Iterator<unknown>): Promise<void> {
  while (steps.next().done !== true) await nextTurn();
}
