/** Finds where ids go on after a restart with a clock that was set back: their order is the order of acceptance. */
import { dayMs } from '../lib/durations.js';
import { firstRequestIdAt } from '../lib/ids.js';
import type { Reader } from '../store/store.js';

/** A clock that was further ahead was wrong: ids would go on from it for as long, and keep their requests as long. */
const aheadMsMax = dayMs;

/** @returns the newest request of all users, but for those dated more than a day ahead of `now`. */
export function newestRequestId(store: Reader, now: number): string | undefined {
  let newest: string | undefined;
  for (const userId of store.keys('users')) {
    const [key] = store.keys('requests', {
      prefix: [userId],
      start: [userId, firstRequestIdAt(now + aheadMsMax)],
      reverse: true,
      limit: 1,
    });
    const requestId = key?.[1];
    if (requestId !== undefined && (newest === undefined || requestId > newest)) newest = requestId;
  }
  return newest;
}
