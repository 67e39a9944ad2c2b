/** Removes API keys that were revoked long enough ago, or are too many. Their ids are never given again. */
import { removeApiKey } from '../auth/api-key.js';
import { dayMs, hourMs } from '../lib/durations.js';
import { eachUser, type Pass, rowsPerStep, type Slice } from './pass.js';

export const revokedKeyRetentionDays = 30;
/** Revoked keys kept for a user, in memory. Older ones go once none of their signals can wait. */
export const revokedKeysMax = 1_000;
const settledMs = hourMs;

export function revokedKeys(slice: Slice, now: number): Pass {
  const cutoff = now - revokedKeyRetentionDays * dayMs;
  return eachUser(slice, function* (userId) {
    let kept = 0;
    // The index has revoked keys under the negative id, the newest first.
    for (let start = -Number.MAX_SAFE_INTEGER; ;) {
      const rows = slice.range('apiKeyHashes', {
        prefix: [userId],
        start: [userId, start],
        end: [userId, 0],
        limit: rowsPerStep,
      });
      for (const { key, record: hash } of rows) {
        const { revokedAt = null } = slice.get('apiKeys', hash) ?? {};
        if (revokedAt === null) continue;
        if (revokedAt > (kept < revokedKeysMax ? cutoff : now - settledMs)) {
          kept++;
          continue;
        }
        removeApiKey(slice, key, hash);
      }
      yield;
      const last = rows.at(-1);
      if (last === undefined) return;
      start = last.key[1] + 1;
    }
  });
}
