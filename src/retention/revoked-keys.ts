/** Removes API keys that were revoked long enough ago: their ids are never given again, so nothing refers to them. */
import { dayMs } from '../lib/durations.js';
import { eachUser, type Pass, rowsPerStep, type Slice } from './pass.js';

export const revokedKeyRetentionDays = 30;

export function revokedKeys(slice: Slice, now: number): Pass {
  const cutoff = now - revokedKeyRetentionDays * dayMs;
  return eachUser(slice, function* (userId) {
    // The index has them under the negative id.
    for (let start = -Number.MAX_SAFE_INTEGER; ;) {
      const rows = slice.range('apiKeyHashes', {
        prefix: [userId],
        start: [userId, start],
        end: [userId, 0],
        limit: rowsPerStep,
      });
      for (const { key, record: hash } of rows) {
        const { revokedAt = null } = slice.get('apiKeys', hash) ?? {};
        if (revokedAt === null || revokedAt > cutoff) continue;
        slice.remove('apiKeys', hash);
        slice.remove('apiKeyHashes', key);
        slice.remove('apiKeyUses', -key[1]);
      }
      yield;
      const last = rows.at(-1);
      if (last === undefined) return;
      start = last.key[1] + 1;
    }
  });
}
