import fc from 'fast-check';
import t from 'tap';
import { BucketMap, TokenBucket } from '../../src/quota/token-bucket.js';

const seed = Number(process.env['FC_SEED'] ?? Date.now() % 2 ** 31);
t.comment(`seed ${seed}`);

/** The limit as the contract words it, without any cleverness. */
class NaiveLimiter {
  constructor(
    readonly capacity: number,
    readonly windowMs: number,
    readonly grants: number[] = [],
  ) {}

  inUse(now: number): number {
    return this.grants.filter((grantedAt) => grantedAt + this.windowMs > now).length;
  }

  remaining(now: number): number {
    return Math.max(0, this.capacity - this.inUse(now));
  }

  take(now: number): boolean {
    const free = this.remaining(now) > 0;
    if (free) this.grants.push(now);
    return free;
  }
}

/** Steps of an eighth of a millisecond are exact in a double, so equality may be asked for. */
const tick = 1 / 8;
const step = fc.record({
  delay: fc.oneof(
    fc.constant(0),
    fc.integer({ min: 0, max: 80 }).map((ticks) => ticks * tick),
    fc.integer({ min: 0, max: 2_000 }).map((ticks) => ticks * tick),
  ),
  takes: fc.integer({ min: 0, max: 12 }),
});

t.test('grants exactly what the naive model grants, and names the moment of the next', (t) => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 40 }),
      fc.constantFrom(1, 50, 100),
      fc.array(
        fc.integer({ min: 0, max: 1_000 }).map((ticks) => -ticks * tick),
        { maxLength: 60 },
      ),
      fc.array(step, { maxLength: 80 }),
      (capacity, windowMs, restored, steps) => {
        const bucket = new TokenBucket(capacity, windowMs);
        const model = new NaiveLimiter(capacity, windowMs, [...restored]);
        if (restored.length > 0) bucket.restore(restored);
        let now = 0;
        for (const { delay, takes } of steps) {
          now += delay;
          for (let i = 0; i < takes; i++) {
            if (bucket.take(now) !== model.take(now)) return false;
          }
          const left = model.remaining(now);
          const wait = bucket.retryAfterMs(now);
          const next = bucket.nextFreeMs(now);
          const agrees =
            bucket.remaining(now) === left &&
            bucket.isIdle(now) === (model.inUse(now) === 0) &&
            (wait === 0) === left > 0 &&
            (next === 0) === (left === capacity) &&
            // Neither earlier than the token frees, nor later.
            (wait === 0 || model.remaining(now + wait) > 0) &&
            (wait === 0 || model.remaining(now + wait - tick) === 0) &&
            (next === 0 || model.remaining(now + next) > left) &&
            (next === 0 || model.remaining(now + next - tick) === left);
          if (!agrees) return false;
        }
        return true;
      },
    ),
    { seed, numRuns: 500 },
  );
  t.end();
});

t.test('never more than the capacity in any window, never a refusal within it', (t) => {
  const bucket = new TokenBucket(1_200);
  let granted = 0;
  for (let i = 0; i < 1_200; i++) granted += bucket.take(59_999) ? 1 : 0;
  t.equal(granted, 1_200, 'a whole burst at the end of a minute is granted');
  t.equal(bucket.take(60_001), false, 'the next calendar minute gives nothing new');
  t.equal(bucket.retryAfterMs(60_001), 59_998);
  t.equal(bucket.take(119_998), false);
  t.equal(bucket.take(119_999), true, 'a token is back one window after it was taken');
  t.end();
});

t.test('a steady client at exactly the limit is never refused', (t) => {
  const bucket = new TokenBucket(10, 100);
  let refused = 0;
  for (let now = 0; now < 10_000; now += 10) refused += bucket.take(now) ? 0 : 1;
  t.equal(refused, 0);
  t.end();
});

t.test('the next token is named while others are free, and nothing when all are', (t) => {
  const bucket = new TokenBucket(5, 100);
  t.equal(bucket.nextFreeMs(0), 0);
  bucket.take(10);
  bucket.take(30);
  t.equal(bucket.retryAfterMs(40), 0);
  t.equal(bucket.nextFreeMs(40), 70);
  t.equal(bucket.remaining(40), 3);
  t.end();
});

t.test('a token is at most a window away, however the sum is rounded', (t) => {
  const bucket = new TokenBucket(1, 100);
  bucket.take(28.3);
  t.ok(28.3 + 100 - 28.3 > 100);
  t.equal(bucket.retryAfterMs(28.3), 100);
  t.equal(bucket.nextFreeMs(28.3), 100);
  t.end();
});

t.test('a capacity of 0 grants nothing and asks to wait a whole window', (t) => {
  const bucket = new TokenBucket(0, 100);
  t.equal(bucket.take(0), false);
  t.equal(bucket.retryAfterMs(0), 100);
  t.equal(bucket.remaining(0), 0);
  t.end();
});

t.test('grants restored above the capacity all have to age out first', (t) => {
  const bucket = new TokenBucket(2, 100);
  bucket.restore([30, 10, 20]);
  t.equal(bucket.remaining(40), 0);
  t.equal(bucket.retryAfterMs(40), 80, 'the second oldest frees at 120');
  t.equal(bucket.take(119), false);
  t.equal(bucket.take(120), true);
  t.end();
});

t.test('a map gives one bucket per key', (t) => {
  const map = new BucketMap<string>(1);
  t.equal(map.of('a', 0).take(0), true);
  t.equal(map.of('a', 0).take(0), false);
  t.equal(map.of('b', 0).take(0), true);
  t.end();
});

t.test('a map drops idle buckets as new keys come, and never one in use', (t) => {
  const map = new BucketMap<number>(1, { windowMs: 100 });
  const perWindow = 1_000;
  let largest = 0;
  let forgotten = 0;
  for (let window = 0; window < 20; window++) {
    const first = window * perWindow;
    for (let key = first; key < first + perWindow; key++) {
      map.of(key, window * 100).take(window * 100);
      largest = Math.max(largest, map.size);
    }
    for (let key = first; key < first + perWindow; key++) {
      if (map.of(key, window * 100 + 99).take(window * 100 + 99)) forgotten++;
    }
  }
  t.equal(forgotten, 0);
  t.ok(largest <= 2 * perWindow, `${largest} buckets for ${perWindow} in use`);
  t.end();
});

t.test('a flood of keys stays within the bound, and each still gets its first grant', (t) => {
  const map = new BucketMap<number>(1, { windowMs: 100, entriesMax: 50 });
  let granted = 0;
  let largest = 0;
  for (let key = 0; key < 10_000; key++) {
    granted += map.of(key, 0).take(0) ? 1 : 0;
    largest = Math.max(largest, map.size);
  }
  t.equal(granted, 10_000);
  t.equal(largest, 50);
  t.end();
});
