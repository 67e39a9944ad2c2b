/**
 * Records when each API key was last used. Requests update memory only, and a timer flushes the updates in a few
 * batches, so that a read does not cost a disk write. A crash loses at most the last interval.
 */
import type { ApiKey } from '../model/records.js';
import { every, type Clock } from '../lib/clock.js';
import { slicesOf } from '../lib/slices.js';
import { StoreFailure, type Reader, type Store } from '../store/store.js';
import { hasApiKey } from './api-key.js';

export interface KeyUses {
  touch(key: Pick<ApiKey, 'id' | 'userId'>, now: number): void;
  /** Latest use in Unix milliseconds, flushed or not; null if never used. */
  lastUsedAt(reader: Reader, keyId: number): number | null;
  /** Rejects with `StoreFailure` when the write fails; the next flush retries it. */
  flush(): Promise<void>;
  /** Stops the timer and flushes. */
  stop(): Promise<void>;
}

interface KeyUse {
  readonly userId: string;
  usedAt: number;
}

const flushIntervalMs = 10_000;
/** Keys in one write: ten thousand at once would hold up the event loop for tens of milliseconds. */
export const usesPerWrite = 256;

export function createKeyUses(store: Store, clock: Clock): KeyUses {
  /** Uses that may not be durable yet, by the key's id. */
  const unflushed = new Map<number, KeyUse>();

  async function flush(): Promise<void> {
    const batch = [...unflushed].map(([keyId, { userId, usedAt }]) => ({ keyId, userId, usedAt }));
    for (const uses of slicesOf(batch, usesPerWrite)) {
      await store.transact((transaction) => {
        for (const { keyId, userId, usedAt } of uses) {
          // Writes nothing for a key that was removed meanwhile.
          if (hasApiKey(transaction, userId, keyId)) transaction.put('apiKeyUses', keyId, usedAt);
        }
      });
      for (const { keyId, usedAt } of uses) {
        if (unflushed.get(keyId)?.usedAt === usedAt) unflushed.delete(keyId);
      }
    }
  }

  const timer = every(clock, flushIntervalMs, () => {
    flush().catch((error: unknown) => {
      // storage-health reports a failed disk; the next run retries.
      if (!(error instanceof StoreFailure)) throw error;
    });
  });

  return {
    touch({ id, userId }, now) {
      const use = unflushed.get(id);
      if (use === undefined) unflushed.set(id, { userId, usedAt: now });
      else use.usedAt = now;
    },
    lastUsedAt: (reader, keyId) =>
      unflushed.get(keyId)?.usedAt ?? reader.get('apiKeyUses', keyId) ?? null,
    flush,
    stop() {
      timer.cancel();
      return flush();
    },
  };
}
