/**
 * When each API key was last used. A request only notes it in memory; what was noted is written in
 * one batch now and then, so that reading a signal never costs a disk write. A crash loses at most
 * the last interval, which `lastUsedAt` can bear.
 */
import { every, type Clock } from '../lib/clock.js';
import { StoreFailure, type Reader, type Store } from '../store/store.js';

export interface KeyUses {
  touch(keyId: number, now: number): void;
  /** Newest known use in Unix milliseconds, written or not. */
  lastUsedAt(reader: Reader, keyId: number): number | null;
  /** Rejects with `StoreFailure` when it could not be written; it is then tried again next time. */
  flush(): Promise<void>;
  /** Ends the timer and writes what is left. */
  stop(): Promise<void>;
}

const flushIntervalMs = 10_000;

export function createKeyUses(store: Store, clock: Clock): KeyUses {
  /** Noted and not known to be on disk. */
  const noted = new Map<number, number>();

  async function flush(): Promise<void> {
    if (noted.size === 0) return;
    const batch = [...noted];
    await store.write((writer) => {
      for (const [keyId, usedAt] of batch) writer.put('apiKeyUses', keyId, usedAt);
    });
    for (const [keyId, usedAt] of batch) {
      if (noted.get(keyId) === usedAt) noted.delete(keyId);
    }
  }

  const timer = every(clock, flushIntervalMs, () => {
    flush().catch((error: unknown) => {
      // A disk in trouble is reported by those who depend on it; the next run tries again.
      if (!(error instanceof StoreFailure)) throw error;
    });
  });

  return {
    touch: (keyId, now) => void noted.set(keyId, now),
    lastUsedAt: (reader, keyId) => noted.get(keyId) ?? reader.get('apiKeyUses', keyId) ?? null,
    flush,
    stop() {
      timer.cancel();
      return flush();
    },
  };
}
