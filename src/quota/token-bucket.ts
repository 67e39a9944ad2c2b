/**
 * The exact limiter: at most `capacity` grants in any window, and whoever stays within it is never
 * refused. It remembers when each grant was made, on the monotonic clock, and gives the token back
 * one window later; a fixed-window counter or a refilling bucket would let nearly twice the limit
 * through around an edge. A ring holds the times: it starts small, grows with use, and nothing is
 * allocated per take. Lost with the process unless its owner restores it.
 */
const firstSlots = 8;

export class TokenBucket {
  readonly #capacity: number;
  readonly #windowMs: number;
  /** Ring of grant times, ascending from `#oldest`. */
  #times: Float64Array;
  #oldest = 0;
  #count = 0;

  /** @param capacity grants per window, a whole number; with 0 nothing is ever granted. */
  constructor(capacity: number, windowMs = 60_000) {
    this.#capacity = capacity;
    this.#windowMs = windowMs;
    this.#times = new Float64Array(Math.min(firstSlots, capacity));
  }

  /** @param now monotonic milliseconds, never less than at the call before. */
  take(now: number): boolean {
    this.#forget(now);
    if (this.#count >= this.#capacity) return false;
    if (this.#count === this.#times.length) this.#grow();
    this.#times[this.#slot(this.#count)] = now;
    this.#count++;
    return true;
  }

  /** Tokens that could be taken at once. */
  remaining(now: number): number {
    this.#forget(now);
    return Math.max(0, this.#capacity - this.#count);
  }

  /** Milliseconds until `take` succeeds; 0 when a token is free. A capacity of 0 says one window. */
  retryAfterMs(now: number): number {
    this.#forget(now);
    const excess = this.#count - this.#capacity;
    if (excess < 0) return 0;
    return this.#capacity === 0 ? this.#windowMs : this.#freesIn(excess, now);
  }

  /** Milliseconds until one more token than now is free; 0 when none is taken. */
  nextFreeMs(now: number): number {
    return this.isIdle(now) ? 0 : this.#freesIn(Math.max(0, this.#count - this.#capacity), now);
  }

  /** Whether the bucket is full, so that a new one in its place would behave the same. */
  isIdle(now: number): boolean {
    this.#forget(now);
    return this.#count === 0;
  }

  /** Takes these grants, in any order and even above the capacity, for all that was granted. */
  restore(times: readonly number[]): void {
    this.#times = Float64Array.from(times).sort();
    this.#oldest = 0;
    this.#count = times.length;
  }

  /** A bucket of this capacity that has made the same grants. */
  resized(capacity: number): TokenBucket {
    const bucket = new TokenBucket(capacity, this.#windowMs);
    bucket.restore(Array.from({ length: this.#count }, (_, index) => this.#grantedAt(index)));
    return bucket;
  }

  /** Never more than the window: adding and taking away a large clock leaves a remainder. */
  #freesIn(index: number, now: number): number {
    return Math.min(this.#windowMs, this.#freesAt(index) - now);
  }

  #freesAt(index: number): number {
    return this.#grantedAt(index) + this.#windowMs;
  }

  #grantedAt(index: number): number {
    return this.#times[this.#slot(index)] as number;
  }

  #slot(index: number): number {
    const slot = this.#oldest + index;
    return slot < this.#times.length ? slot : slot - this.#times.length;
  }

  /** Each grant is forgotten once, so this is O(1) per take over any run of calls. */
  #forget(now: number): void {
    while (this.#count > 0 && this.#freesAt(0) <= now) {
      this.#oldest = this.#slot(1);
      this.#count--;
    }
  }

  #grow(): void {
    const slots = Math.max(firstSlots, this.#times.length * 2);
    const times = new Float64Array(Math.min(slots, this.#capacity));
    for (let i = 0; i < this.#count; i++) times[i] = this.#times[this.#slot(i)] as number;
    this.#times = times;
    this.#oldest = 0;
  }
}

/** How many buckets each new one looks at: 2 keep the map below about twice what is in use. */
const sweptPerInsert = 2;

/**
 * One bucket per key. Each new key looks at a few others and drops the idle ones, so the map needs
 * no timer and no scan. Beyond `entriesMax` a bucket in use is dropped too, which forgives its
 * grants: a flood from that many addresses outruns a limit per address anyway, and must not cost
 * memory without bound. Where keys are bounded by what is stored, give `Infinity` and stay exact.
 */
export class BucketMap<K> {
  readonly #buckets = new Map<K, TokenBucket>();
  readonly #capacity: number;
  readonly #windowMs: number;
  readonly #entriesMax: number;
  /** Where the sweep goes on; a Map's iterator outlives insertions and deletions. */
  #hand = this.#buckets.entries();

  constructor(capacity: number, options: { windowMs?: number; entriesMax?: number } = {}) {
    this.#capacity = capacity;
    this.#windowMs = options.windowMs ?? 60_000;
    this.#entriesMax = options.entriesMax ?? 65_536;
  }

  get size(): number {
    return this.#buckets.size;
  }

  /** The bucket of a key, to be used at once and not kept: it may be dropped at the next new key. */
  of(key: K, now: number): TokenBucket {
    let bucket = this.#buckets.get(key);
    if (bucket === undefined) {
      this.#sweep(now);
      bucket = new TokenBucket(this.#capacity, this.#windowMs);
      this.#buckets.set(key, bucket);
    }
    return bucket;
  }

  #sweep(now: number): void {
    for (let i = 0; i < sweptPerInsert && this.#buckets.size > 0; i++) {
      const [key, bucket] = this.#next();
      if (bucket.isIdle(now) || this.#buckets.size >= this.#entriesMax) this.#buckets.delete(key);
    }
  }

  /** The entry under the hand, which starts over at the end; never called on an empty map. */
  #next(): [K, TokenBucket] {
    let step = this.#hand.next();
    if (step.done === true) {
      this.#hand = this.#buckets.entries();
      step = this.#hand.next();
    }
    return step.value as [K, TokenBucket];
  }
}
