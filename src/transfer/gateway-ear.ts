/** Whether the gateway that runs on a data directory has obeyed what a command told it. */
import { setTimeout as rest } from 'node:timers/promises';
import { gatewayOn } from '../store/data-directory.js';
import type { Store } from '../store/store.js';

const lookIntervalMs = 50;
/** It looks many times a second, and its commit takes long only on a disk that is in trouble. */
const obeyedWithinMs = 10_000;

/**
 * Waits until no notice about the user is left: all that the gateway wrote before it heard is on disk
 * then, since it removes a notice with a later write. @returns false when it does not hear in time;
 * true at once when no gateway runs, which finds everything as it is at its start.
 */
export async function gatewayHeard(
  store: Store,
  dataDirectory: string,
  userId: string,
): Promise<boolean> {
  const looks = obeyedWithinMs / lookIntervalMs;
  for (let i = 0; i < looks; i++) {
    if (gatewayOn(dataDirectory) === undefined) return true;
    const notices = store.range('changes');
    if (!notices.some(({ record }) => record.userId === userId)) return true;
    await rest(lookIntervalMs);
  }
  return false;
}
