/**
 * Writes the trail to the log, at most `trailLinesPerSecond` lines of each event in any second, so that a
 * client that is refused all the time cannot fill the disk; what is left out is counted in a line of its own.
 * Owns the times of the latest lines, for the life of the process.
 */
import type { Clock } from '../lib/clock.js';
import { trailEvents, type TrailLog, type TrailEvent } from '../model/trail-events.js';
import { TokenBucket } from '../quota/token-bucket.js';
import type { Log } from './log.js';

export const trailLinesPerSecond = 100;
const windowMs = 1_000;

export function createTrail(log: Log, clock: Clock): TrailLog {
  const budgets = new Map(
    (Object.keys(trailEvents) as TrailEvent[]).map((event) => [
      event,
      { bucket: new TokenBucket(trailLinesPerSecond, windowMs), omitted: 0 },
    ]),
  );

  function takes(event: TrailEvent): boolean {
    if (!log.isLevelEnabled('info')) return false;
    const budget = budgets.get(event)!;
    if (budget.bucket.take(clock.monotonic())) return true;
    if (budget.omitted++ === 0) {
      clock.setTimer(windowMs, () => {
        const { omitted } = budget;
        budget.omitted = 0;
        log.info(
          { event: 'omitted', of: event, lines: omitted },
          'Further lines of this event were left out.',
        );
      });
    }
    return false;
  }

  return {
    note(event, fields) {
      if (!takes(event)) return;
      const known: object = typeof fields === 'function' ? fields() : fields;
      log.info({ event, ...known }, trailEvents[event].meaning);
    },
  };
}
