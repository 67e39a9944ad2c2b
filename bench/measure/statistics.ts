/**
 * What is said of several samples of one figure, and a histogram for latencies. The histogram's
 * buckets are log-linear, 128 to the octave over sixteenths of a microsecond: a percentile is within
 * 1% from 4 µs up to two minutes, the memory is fixed, and recording allocates nothing.
 */

/** Several rounds of one figure. */
export interface Summary {
  readonly median: number;
  readonly min: number;
  readonly max: number;
  readonly samples: readonly number[];
}

/** @param samples at least one. */
export function summarize(samples: readonly number[]): Summary {
  if (samples.length === 0) throw new Error('nothing was measured, so there is no median');
  const sorted = samples.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  const upper = sorted[Math.floor(middle)] as number;
  const lower = sorted[Math.ceil(middle) - 1] as number;
  return {
    median: (lower + upper) / 2,
    min: sorted[0] as number,
    max: sorted.at(-1) as number,
    samples,
  };
}

/** A histogram as another process can send it: the buckets in use alone. */
export interface HistogramJson {
  readonly count: number;
  readonly minMs: number;
  readonly maxMs: number;
  /** Pairs of bucket and count. */
  readonly buckets: readonly (readonly [bucket: number, count: number])[];
}

/** Sixteenths of a microsecond. */
const ticksPerMs = 16_000;
const ticksMax = 2 ** 31 - 1;
const stepBits = 7;
const buckets = (32 - stepBits) << stepBits;

export class LatencyHistogram {
  readonly #counts = new Float64Array(buckets);
  #count = 0;
  #minMs = Infinity;
  #maxMs = 0;

  get count(): number {
    return this.#count;
  }

  record(ms: number): void {
    const ticks = Math.min(ticksMax, Math.max(0, Math.round(ms * ticksPerMs)));
    const bucket = bucketOf(ticks);
    this.#counts[bucket] = (this.#counts[bucket] as number) + 1;
    this.#count++;
    if (ms < this.#minMs) this.#minMs = ms;
    if (ms > this.#maxMs) this.#maxMs = ms;
  }

  /** Milliseconds that `p` percent of the records do not exceed (nearest rank); NaN without records. */
  percentile(p: number): number {
    if (this.#count === 0) return NaN;
    const rank = Math.max(1, Math.ceil((p / 100) * this.#count));
    let seen = 0;
    let bucket = -1;
    while (seen < rank) seen += this.#counts[++bucket] as number;
    return Math.min(this.#maxMs, Math.max(this.#minMs, middleOf(bucket)));
  }

  toJSON(): HistogramJson {
    const used: [number, number][] = [];
    this.#counts.forEach((count, bucket) => {
      if (count > 0) used.push([bucket, count]);
    });
    // JSON has no Infinity.
    const minMs = this.#count === 0 ? 0 : this.#minMs;
    return { count: this.#count, minMs, maxMs: this.#maxMs, buckets: used };
  }

  static fromJSON(json: HistogramJson): LatencyHistogram {
    const histogram = new LatencyHistogram();
    for (const [bucket, count] of json.buckets) histogram.#counts[bucket] = count;
    histogram.#count = json.count;
    histogram.#minMs = json.count === 0 ? Infinity : json.minMs;
    histogram.#maxMs = json.maxMs;
    return histogram;
  }
}

/** Small values have a bucket each; above, the leading bits of the value choose it. */
function bucketOf(ticks: number): number {
  const shift = Math.max(0, 31 - stepBits - Math.clz32(ticks));
  return (shift << stepBits) + (ticks >>> shift);
}

function middleOf(bucket: number): number {
  const shift = Math.max(0, (bucket >> stepBits) - 1);
  const first = (bucket - (shift << stepBits)) * 2 ** shift;
  return (first + (2 ** shift - 1) / 2) / ticksPerMs;
}
