/**
 * Keeps the process alive until `work` has settled. A promise alone does not, and a `fetch` not always: in Node 20
 * the first one of a process stops doing so when its peer closes the connection at once, and its timeout never does.
 * The process would end without a message, with exit code 13.
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
