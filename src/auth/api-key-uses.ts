/**
 * Records when each API key was last used. Requests update memory only, and a timer flushes the updates in one
 * batch, so that a read does not cost a disk write. A crash loses at most the last interval.
 */
import { every, type Clock } from '../lib/clock.js';
import { StoreFailure, type Reader, type Store } from '../store/store.js';

export interface KeyUses {
  touch(keyId: number, now: number): void;
  /** Latest use in Unix milliseconds, flushed or not; null if never used. */
  lastUsedAt(reader: Reader, keyId: number): number | null;
  /** Rejects with `StoreFailure` when the write fails; the next flush retries it. */
  flush(): Promise<void>;
  /** Stops the timer and flushes. */
  stop(): Promise<void>;
}

const flushIntervalMs = 10_000;

export function createKeyUses(store: Store, clock: Clock): KeyUses {
  /** Uses that may not be durable yet. */
  const unflushed = new Map<number, number>();

  async function flush(): Promise<void> {
    if (unflushed.size === 0) return;
    const batch = [...unflushed];
    await store.write((writer) => {
      for (const [keyId, usedAt] of batch) writer.put('apiKeyUses', keyId, usedAt);
    });
    for (const [keyId, usedAt] of batch) {
      if (unflushed.get(keyId) === usedAt) unflushed.delete(keyId);
    }
  }

  const timer = every(clock, flushIntervalMs, () => {
    flush().catch((error: unknown) => {
      // storage-health reports a failed disk; the next run retries.
      if (!(error instanceof StoreFailure)) throw error;
    });
  });

  return {
    touch: (keyId, now) => void unflushed.set(keyId, now),
    lastUsedAt: (reader, keyId) => unflushed.get(keyId) ?? reader.get('apiKeyUses', keyId) ?? null,
    flush,
    stop() {
      timer.cancel();
      return flush();
    },
  };
}
