/**
 * At most so many in any 60 seconds, exactly: a ring of the times at which it was granted, one ring
 * per key. The gateway promises the same, so that a cheaper, looser counter would be another contract.
 */
const windowMs = 60_000;

export class SlidingWindow {
  #times;
  #next = 0;
  #count = 0;

  constructor(capacity) {
    this.#times = new Float64Array(capacity);
  }

  /** `now`: monotonic milliseconds. @returns whether there was room. */
  take(now) {
    this.#forget(now);
    if (this.#count === this.#times.length) return false;
    this.#times[this.#next] = now;
    this.#next = (this.#next + 1) % this.#times.length;
    this.#count++;
    return true;
  }

  get remaining() {
    return this.#times.length - this.#count;
  }

  /** Whole seconds, at least 1, until one more is free. */
  secondsToNext(now) {
    if (this.#count === 0) return 1;
    return Math.max(1, Math.ceil((this.#times[this.#oldest()] + windowMs - now) / 1000));
  }

  #forget(now) {
    while (this.#count > 0 && this.#times[this.#oldest()] + windowMs <= now) this.#count--;
  }

  #oldest() {
    return (this.#next - this.#count + this.#times.length) % this.#times.length;
  }
}

/** One window per key, made when the key is first seen. */
export class SlidingWindows {
  #windows = new Map();
  #capacity;

  constructor(capacity) {
    this.#capacity = capacity;
  }

  of(key) {
    let window = this.#windows.get(key);
    if (window === undefined) {
      window = new SlidingWindow(this.#capacity);
      this.#windows.set(key, window);
    }
    return window;
  }
}
