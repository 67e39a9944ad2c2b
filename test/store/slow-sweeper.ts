/** A sweeper that works for as many milliseconds as its order's `now`, and then throws if that is odd. */
import type { Sweeper } from '../../src/store/store.js';

export function createSweeper(): Sweeper {
  return (index, { now }) => {
    const end = performance.now() + now;
    index.put('meta', 'swept', Number(index.get('meta', 'swept') ?? 0) + 1);
    index.remove('requests', ['u', 'r']);
    while (performance.now() < end) index.get('meta', 'swept');
    if (now % 2 === 1) throw new Error('odd');
    return { hasEnded: true, removals: 1, spentMs: now };
  };
}
