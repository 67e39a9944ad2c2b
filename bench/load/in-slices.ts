/** Many connections, some at a time: a server's queue of unaccepted ones is short. */
const opensAtATime = 50;

export async function inSlices<T, R>(
  items: readonly T[],
  open: (item: T) => Promise<R>,
): Promise<R[]> {
  const opened: R[] = [];
  for (let at = 0; at < items.length; at += opensAtATime) {
    opened.push(...(await Promise.all(items.slice(at, at + opensAtATime).map(open))));
  }
  return opened;
}
