/** Many connections, some at a time: a server's queue of unaccepted ones is short. */
import { slicesOf } from '../../src/lib/slices.js';

const opensAtATime = 50;

export async function inSlices<T, R>(
  items: readonly T[],
  open: (item: T) => Promise<R>,
  atATime = opensAtATime,
): Promise<R[]> {
  const opened: R[] = [];
  for (const slice of slicesOf(items, atATime)) {
    opened.push(...(await Promise.all(slice.map(open))));
  }
  return opened;
}
