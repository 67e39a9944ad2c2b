/**
 * Writes the trail to the log, at most `trailLinesPerSecond` lines of each event in any second, so that a
 * client that is refused all the time cannot fill the disk; what is left out is counted in a line of its own.
 * Owns the times of the latest lines, for the life of the process.
 */
import type { Clock, Timer } from '../lib/clock.js';
import { trailEvents, type TrailLog, type TrailEvent } from '../model/trail-events.js';
import { TokenBucket } from '../quota/token-bucket.js';
import type { Log } from './log.js';

export const trailLinesPerSecond = 100;
const windowMs = 1_000;

export interface TrailOfLog extends TrailLog {
  /** Writes the lines that count what was left out, before their second is over. Call it before the process ends. */
  tellOmitted(): void;
}

export function createTrail(log: Log, clock: Clock): TrailOfLog {
  const budgets = new Map(
    (Object.keys(trailEvents) as TrailEvent[]).map((event) => [
      event,
      { bucket: new TokenBucket(trailLinesPerSecond, windowMs), omitted: 0 },
    ]),
  );

  let telling: Timer | undefined;

  function takes(event: TrailEvent): boolean {
    if (!log.isLevelEnabled('info')) return false;
    const budget = budgets.get(event)!;
    if (budget.bucket.take(clock.monotonic())) return true;
    budget.omitted++;
    telling ??= clock.setTimer(windowMs, tellOmitted);
    return false;
  }

  function tellOmitted(): void {
    telling?.cancel();
    telling = undefined;
    for (const [event, budget] of budgets) {
      const { omitted: lines } = budget;
      if (lines === 0) continue;
      budget.omitted = 0;
      log.info(
        { event: 'omitted', of: event, lines },
        'Further lines of this event were left out.',
      );
    }
  }

  return {
    tellOmitted,
    note(event, fields) {
      if (!takes(event)) return;
      const known: object = typeof fields === 'function' ? fields() : fields;
      log.info({ event, ...known }, trailEvents[event].meaning);
    },
  };
}
