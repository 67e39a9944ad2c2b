/**
 * An exact rate limiter: a sliding-window log. Grants at most `capacity` tokens in any window, and returns each
 * token one window after its grant; a fixed-window counter or a refilling token bucket allows nearly twice the
 * limit around an edge. Holds the monotonic time of each grant in a ring buffer that grows with use, so a take
 * does not allocate. Ends with the process unless its owner restores it.
 */
const firstSlots = 8;

export class TokenBucket {
  readonly #capacity: number;
  readonly #windowMs: number;
  /** Ring buffer of grant times, ascending from `#oldest`. */
  #times: Float64Array;
  #oldest = 0;
  #count = 0;

  /** @param capacity grants per window, an integer; 0 rejects everything. */
  constructor(capacity: number, windowMs = 60_000) {
    this.#capacity = capacity;
    this.#windowMs = windowMs;
    this.#times = new Float64Array(Math.min(firstSlots, capacity));
  }

  /** @param now monotonic milliseconds, not less than in an earlier call. */
  take(now: number): boolean {
    this.#expire(now);
    if (this.#count >= this.#capacity) return false;
    if (this.#count === this.#times.length) this.#grow();
    this.#times[this.#slot(this.#count)] = now;
    this.#count++;
    return true;
  }

  /** Tokens available now. */
  remaining(now: number): number {
    this.#expire(now);
    return Math.max(0, this.#capacity - this.#count);
  }

  /** Milliseconds until `take` succeeds; 0 when a token is free; one window when the capacity is 0. */
  retryAfterMs(now: number): number {
    this.#expire(now);
    const excess = this.#count - this.#capacity;
    if (excess < 0) return 0;
    return this.#capacity === 0 ? this.#windowMs : this.#freesIn(excess, now);
  }

  /** Milliseconds until one more token is free than now; 0 when all are free. */
  nextFreeMs(now: number): number {
    return this.isIdle(now) ? 0 : this.#freesIn(Math.max(0, this.#count - this.#capacity), now);
  }

  /** Whether all tokens are free, so that the bucket can be dropped and created again. */
  isIdle(now: number): boolean {
    this.#expire(now);
    return this.#count === 0;
  }

  /** Replaces the log by these grant times, in any order; there may be more than the capacity. */
  restore(times: readonly number[]): void {
    this.#times = Float64Array.from(times).sort();
    this.#oldest = 0;
    this.#count = times.length;
  }

  /** @returns a bucket of this capacity with the same log. */
  resized(capacity: number): TokenBucket {
    const bucket = new TokenBucket(capacity, this.#windowMs);
    bucket.restore(Array.from({ length: this.#count }, (_, index) => this.#grantedAt(index)));
    return bucket;
  }

  /** At most one window: floating-point error of a large clock value could exceed it. */
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

  /** Each grant expires once, so this is amortized O(1) per take. */
  #expire(now: number): void {
    while (this.#count > 0 && this.#freesAt(0) <= now) {
      this.#oldest = this.#slot(1);
      this.#count--;
    }
  }

  #grow(): void {
    const slots = Math.max(firstSlots, this.#times.length * 2);
    const times = new Float64Array(Math.min(slots, this.#capacity));
    for (let i = 0; i < this.#count; i++) times[i] = this.#grantedAt(i);
    this.#times = times;
    this.#oldest = 0;
  }
}

/** Buckets checked per insert: 2 keep the map below about twice the number in use. */
const sweptPerInsert = 2;

/**
 * One bucket per key. Each insert checks a few other buckets and drops idle ones, so the map needs no timer
 * and no full scan. Above `entriesMax` it drops buckets in use, too, and their grants: a flood from that many
 * addresses defeats a per-address limit anyway, and must not exhaust the memory. Use `Infinity` where the
 * number of keys is bounded elsewhere.
 */
export class BucketMap<K> {
  readonly #buckets = new Map<K, TokenBucket>();
  readonly #capacity: number;
  readonly #windowMs: number;
  readonly #entriesMax: number;
  /** Position of the sweep; a Map's iterator stays valid across insertions and deletions. */
  #cursor = this.#buckets.entries();

  constructor(capacity: number, options: { windowMs?: number; entriesMax?: number } = {}) {
    this.#capacity = capacity;
    this.#windowMs = options.windowMs ?? 60_000;
    this.#entriesMax = options.entriesMax ?? 65_536;
  }

  get size(): number {
    return this.#buckets.size;
  }

  /** @returns the bucket of a key, made with this capacity. Do not keep it: the next insert may drop it from the map. */
  of(key: K, now: number, capacity = this.#capacity): TokenBucket {
    let bucket = this.#buckets.get(key);
    if (bucket === undefined) {
      this.#sweep(now);
      bucket = new TokenBucket(capacity, this.#windowMs);
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

  /** @returns the entry at the cursor, which wraps around. The map must not be empty. */
  #next(): [K, TokenBucket] {
    let step = this.#cursor.next();
    if (step.done === true) {
      this.#cursor = this.#buckets.entries();
      step = this.#cursor.next();
    }
    return step.value as [K, TokenBucket];
  }
}
