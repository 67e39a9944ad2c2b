/** Finds where ids go on after a restart with a clock that was set back: their order is the order of acceptance. */
import { followedRange } from '../lib/ids.js';
import type { Reader } from '../store/store.js';

/** @returns the newest request of all users, but for those dated more than a day ahead of `now`. */
export function newestRequestId(store: Reader, now: number): string | undefined {
  let newest: string | undefined;
  for (const userId of store.keys('users')) {
    const [key] = store.keys('requests', { ...followedRange(userId, now), limit: 1 });
    const requestId = key?.[1];
    if (requestId !== undefined && (newest === undefined || requestId > newest)) newest = requestId;
  }
  return newest;
}
