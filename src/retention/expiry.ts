/** Removes what has expired and is small: sessions, idempotency records, switches of removed keys. */
import { hasApiKey } from '../auth/api-key.js';
import { minuteMs } from '../lib/durations.js';
import { firstRequestIdAt, firstUlidAt } from '../lib/ids.js';
import type { Reader } from '../store/store.js';
import { eachRow, eachUser, type Pass, type RetentionLimits, type Slice } from './pass.js';

/** Lag of the idempotency pass, so that it does not skip an acceptance whose flush is delayed. */
const lagMs = minuteMs;
const positionKey = 'sweep:idempotency';

export function expiredSessions(slice: Slice, now: number): Pass {
  return eachRow(slice, 'sessions', {}, ({ key, record }) => {
    if (record.expiresAt <= now) slice.remove('sessions', key);
  });
}

/**
 * Scans the requests that became older than the retention since the last complete pass. The idempotency
 * records of an earlier, longer retention are removed with their request.
 */
export function* expiredIdempotency(slice: Slice, now: number, limits: RetentionLimits): Pass {
  const stored = Number(slice.get('meta', positionKey) ?? 0);
  // A pass under a clock that was ahead has left it there, and requests accepted since then lie before it.
  const isAhead = stored > now;
  const position = isAhead ? 0 : stored;
  const reached = now - limits.idempotencyRetentionMs - lagMs;
  if (reached <= position) return;
  let scanned = 0;
  yield* eachUser(slice, (userId) => {
    const stretch = {
      start: [userId, firstRequestIdAt(position)] satisfies [string, string],
      end: [userId, firstRequestIdAt(reached)] satisfies [string, string],
    };
    return eachRow(slice, 'requests', stretch, ({ record: { idempotencyKey } }) => {
      scanned++;
      removeExpired(slice, userId, idempotencyKey, now);
    });
  });
  // Without this check an idle gateway would write in each cycle.
  if (scanned > 0 || isAhead) slice.put('meta', positionKey, reached);
}

/** @returns the milliseconds by which the last complete pass is behind; 0 before the first one. */
export function idempotencyLagMs(
  records: Pick<Reader, 'get'>,
  now: number,
  limits: RetentionLimits,
): number {
  const position = records.get('meta', positionKey);
  if (position === undefined) return 0;
  return Math.max(0, now - limits.idempotencyRetentionMs - lagMs - Number(position));
}

/** Removes the idempotency records of cancels, which no request refers to. */
export function expiredCancelKeys(slice: Slice, now: number, limits: RetentionLimits): Pass {
  const reached = firstUlidAt(now - limits.idempotencyRetentionMs);
  return eachUser(slice, (userId) => {
    const stretch = { prefix: [userId], end: [userId, reached] satisfies [string, string] };
    return eachRow(slice, 'cancelKeys', stretch, ({ key, record: idempotencyKey }) => {
      if (removeExpired(slice, userId, idempotencyKey, now)) slice.remove('cancelKeys', key);
    });
  });
}

/**
 * Removes the key's record, unless it is of a newer operation that has taken the key and has not expired.
 * @returns whether nothing is stored at the key any more.
 */
function removeExpired(slice: Slice, userId: string, idempotencyKey: string, now: number): boolean {
  const known = slice.get('idempotency', [userId, idempotencyKey]);
  if (known !== undefined && known.expiresAt > now) return false;
  if (known !== undefined) slice.remove('idempotency', [userId, idempotencyKey]);
  return true;
}

/** Removes the switches of removed API keys. An armed one fires first. */
export function orphanedSwitches(slice: Slice): Pass {
  return eachRow(slice, 'cancelAfters', {}, ({ key, record }) => {
    const [userId, id] = key;
    const isKept = record.firesAt !== null || hasApiKey(slice, userId, Number(id));
    // Without its key, a switch cannot be armed again.
    if (!isKept) slice.remove('cancelAfters', key);
  });
}
