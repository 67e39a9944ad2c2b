/** The rules for every scrape, whatever the clocks do: sane histograms, counters that never fall. */
import { parseScrape, type Sample } from '../../../src/stats/scrape.js';
import type { Verdict } from '../verdict.js';

const typeLine = /^# TYPE signalbox_(\w+) (\w+)$/gm;

export class ScrapeModel {
  readonly #last = new Map<string, number>();
  readonly #startedAt = performance.now();

  constructor(readonly verdict: Verdict) {}

  /** @returns the value of a gauge. */
  inspect(text: string): (name: string) => number {
    const { verdict } = this;
    const scrape = parseScrape(text);
    for (const [name, samples] of scrape) {
      for (const { labels, value } of samples) {
        // Only the step of the clock may be negative; a quantile without samples would be NaN.
        const isSane = Number.isFinite(value) && (value >= 0 || name === 'clock_step_seconds');
        verdict.hold('no metric is negative', isSane, () => [name, labels, value]);
      }
    }
    for (const [, name = '', type] of text.matchAll(typeLine)) {
      if (type === 'counter') {
        for (const sample of scrape.get(name) ?? []) this.#mustNotFall(name, sample);
      } else if (type === 'histogram') {
        for (const suffix of ['_bucket', '_count', '_sum']) {
          for (const sample of scrape.get(name + suffix) ?? []) {
            this.#mustNotFall(name + suffix, sample);
          }
        }
        this.#inspectHistogram(name, scrape);
      }
    }
    return (name) => scrape.get(name)?.[0]?.value ?? NaN;
  }

  #inspectHistogram(name: string, scrape: ReadonlyMap<string, readonly Sample[]>): void {
    const counts = scrape.get(`${name}_count`) ?? [];
    const sums = scrape.get(`${name}_sum`) ?? [];
    const livedSeconds = (performance.now() - this.#startedAt) / 1000 + 60;
    counts.forEach(({ labels, value: count }, index) => {
      const ofThis = (scrape.get(`${name}_bucket`) ?? []).filter((bucket) =>
        isOfSeries(bucket.labels, labels),
      );
      const isAscending = ofThis.every(
        ({ value }, place) => value >= (ofThis[place - 1]?.value ?? 0),
      );
      const isWhole = isAscending && ofThis.at(-1)?.value === count;
      this.verdict.hold('a histogram adds up', isWhole, () => [name, labels, ofThis, count]);
      // No duration can exceed the uptime of the gateway.
      const sum = sums[index]?.value ?? 0;
      this.verdict.hold('no duration is longer than the life', sum <= count * livedSeconds, () => [
        name,
        labels,
        sum,
        count,
      ]);
    });
  }

  #mustNotFall(name: string, { labels, value }: Sample): void {
    const key = `${name} ${JSON.stringify(labels)}`;
    const before = this.#last.get(key) ?? 0;
    this.verdict.hold('no counter falls', value >= before, () => [key, before, value]);
    this.#last.set(key, value);
  }
}

function isOfSeries(bucket: Sample['labels'], series: Sample['labels']): boolean {
  return Object.entries(series).every(([label, value]) => bucket[label] === value);
}
