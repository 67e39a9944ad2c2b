/**
 * Counters and histograms as plain numbers, cheap enough for the hot path. `telemetry/metrics` reads them at
 * each scrape and converts them for Prometheus.
 */
export class Counter {
  value = 0;

  add(amount = 1): void {
    this.value += amount;
  }
}

/** One counter per name of a fixed set, such as the values of a label. */
export class CounterSet<Name extends string> {
  readonly counters: Readonly<Record<Name, Counter>>;

  constructor(names: readonly Name[]) {
    this.counters = Object.fromEntries(names.map((name) => [name, new Counter()])) as Record<
      Name,
      Counter
    >;
  }

  add(name: Name): void {
    this.counters[name].add();
  }
}

/** As `CounterSet`, once for each value of a further label, whose values are few but known only at run time. */
export class CounterTable<Name extends string> {
  readonly rows = new Map<string, CounterSet<Name>>();
  readonly #names: readonly Name[];

  constructor(names: readonly Name[]) {
    this.#names = names;
  }

  add(row: string, name: Name): void {
    let counters = this.rows.get(row);
    if (counters === undefined) {
      counters = new CounterSet(this.#names);
      this.rows.set(row, counters);
    }
    counters.add(name);
  }
}

export class Histogram {
  /** Observations per bucket, not cumulative; the last bucket counts what exceeds every bound. */
  readonly counts: Float64Array;
  sum = 0;
  count = 0;

  /** @param bounds upper bounds, inclusive and ascending, in the unit of the observations. */
  constructor(readonly bounds: readonly number[]) {
    this.counts = new Float64Array(bounds.length + 1);
  }

  observe(value: number): void {
    let bucket = 0;
    while (bucket < this.bounds.length && value > (this.bounds[bucket] as number)) bucket++;
    this.counts[bucket] = (this.counts[bucket] as number) + 1;
    this.sum += value;
    this.count++;
  }
}

/** Bounds in seconds, from a memory write to a stalled disk. */
export const latencyBounds = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
  30, 60,
] as const;
