/** Waits for the next turn of the event loop, so that long work lets other work in between. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
