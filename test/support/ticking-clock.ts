/** A clock on which a millisecond passes with every look at it: what one decision looks up twice may differ. */
import { SimulatedClock } from './simulated-clock.js';

export class TickingClock extends SimulatedClock {
  override now(): number {
    const now = super.now();
    this.elapse(1);
    return now;
  }

  override monotonic(): number {
    const now = super.monotonic();
    this.elapse(1);
    return now;
  }
}
