/**
 * Hears what the operator's shell changed in another process: it leaves notices in the store, and a
 * running gateway looks for new ones many times a second. What answers a request reads the store
 * anyway; this is for what stays open, plugin connections and streams.
 */
import { every, type Clock, type Timer } from '../lib/clock.js';
import type { WriteQueue, Stored } from './write-queue.js';
import type { Reader } from './store.js';

const intervalMs = 50;
const noticesPerLook = 256;

export interface ChangeWatchDeps {
  readonly store: Reader;
  readonly writer: WriteQueue;
  readonly clock: Clock;
  readonly onChange: (userId: string) => void;
  /** A user is about to arrive from another gateway. */
  readonly onArrival: (userId: string) => void;
}

export class ChangeWatch {
  readonly #deps: ChangeWatchDeps;
  #timer: Timer | undefined;
  /** Number of the last notice that was heard; they count from 1. */
  #obeyed = 0;

  constructor(deps: ChangeWatchDeps) {
    this.#deps = deps;
  }

  start(): void {
    this.#timer = every(this.#deps.clock, intervalMs, () => this.#look());
  }

  stop(): void {
    this.#timer?.cancel();
  }

  #look(): void {
    const { store, writer, onChange, onArrival } = this.#deps;
    const entries = store.range('changes', { start: this.#obeyed + 1, limit: noticesPerLook });
    if (entries.length === 0) return;
    for (const { key, record } of entries) {
      this.#obeyed = key;
      if (record.arrives === true) onArrival(record.userId);
      else onChange(record.userId);
    }
    const heard: Stored = {
      put: (batch) => {
        for (const { key } of entries) batch.remove('changes', key);
      },
    };
    writer.write({ records: [heard] });
  }
}
