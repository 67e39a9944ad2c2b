/**
 * Keeps the process up until `work` has settled. A promise does not do so by itself, and a `fetch` not always: of Node
 * 20, the first one of a process holds nothing any more once its peer has closed the connection at once, and its time-out
 * never holds anything. The process would end without a word, with exit code 13.
 */
import { longestDelayMs } from './clock.js';

export async function keptAlive<T>(work: Promise<T>): Promise<T> {
  const timer = setInterval(() => undefined, longestDelayMs);
  try {
    return await work;
  } finally {
    clearInterval(timer);
  }
}
