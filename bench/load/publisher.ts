/**
 * Publishes one channel's events as fast as the server takes them: a window of events is under way,
 * and when half of it is acknowledged, the next half leaves in one write.
 */
import type { NumberedBytes } from './numbered-bytes.js';
import { numberOrigin } from './sample-event.js';

export class Publisher {
  sent = 0;
  acknowledged = 0;
  #isRunning = false;

  constructor(
    readonly event: NumberedBytes,
    readonly window: number,
    readonly write: (bytes: Buffer) => void,
  ) {}

  /** The number of the newest event that has left. */
  get latest(): number {
    return numberOrigin + this.sent;
  }

  start(): void {
    this.#isRunning = true;
    this.#topUp();
  }

  stop(): void {
    this.#isRunning = false;
  }

  /** The server has answered for this many events in all. */
  acknowledge(total: number): void {
    this.acknowledged = Math.max(this.acknowledged, total);
    if (this.#isRunning) this.#topUp();
  }

  #topUp(): void {
    const free = this.window - (this.sent - this.acknowledged);
    if (free * 2 < this.window) return;
    const first = this.latest + 1;
    this.sent += free;
    this.write(this.event.copies(first, free));
  }
}
