/** What the gateway counts and measures of itself, read from its metrics as an operator's Prometheus does. */

export interface ScrapedHistogram {
  /** Upper bounds in seconds, ascending, the last one Infinity. */
  readonly bounds: readonly number[];
  /** Observations per bucket, not cumulated. */
  readonly counts: readonly number[];
}

/** @param url of the ops port. @param name of a histogram without labels. */
export async function scrapeHistogram(url: string, name: string): Promise<ScrapedHistogram> {
  return readHistogram(await (await fetch(`${url}/metrics`)).text(), name);
}

/** @param names of counters or gauges without labels. */
export async function scrapeValues(url: string, names: readonly string[]): Promise<number[]> {
  const text = await (await fetch(`${url}/metrics`)).text();
  return names.map((name) => readValue(text, name));
}

export function readValue(text: string, name: string): number {
  const [, value] = new RegExp(`^${name} (\\S+)$`, 'm').exec(text) ?? [];
  if (value === undefined) throw new Error(`the metrics hold no ${name}`);
  return Number(value);
}

export function readHistogram(text: string, name: string): ScrapedHistogram {
  const lines = [...text.matchAll(new RegExp(`^${name}_bucket\\{le="([^"]+)"\\} (\\d+)$`, 'gm'))];
  if (lines.length === 0) throw new Error(`the metrics hold no histogram ${name}`);
  const bounds = lines.map(([, le]) => (le === '+Inf' ? Infinity : Number(le)));
  const cumulated = lines.map(([, , count]) => Number(count));
  return { bounds, counts: cumulated.map((count, i) => count - (cumulated[i - 1] ?? 0)) };
}

/** What was observed between two scrapes. */
export function between(before: ScrapedHistogram, after: ScrapedHistogram): ScrapedHistogram {
  const counts = after.counts.map((count, i) => count - (before.counts[i] as number));
  return { bounds: after.bounds, counts };
}

/** In seconds, even within a bucket: as exact as the buckets are narrow. NaN without observations. */
export function quantile({ bounds, counts }: ScrapedHistogram, share: number): number {
  const rank = share * counts.reduce((sum, count) => sum + count, 0);
  let below = 0;
  for (const [i, count] of counts.entries()) {
    if (count > 0 && below + count >= rank) {
      const lower = bounds[i - 1] ?? 0;
      const upper = bounds[i] as number;
      return upper === Infinity ? lower : lower + ((upper - lower) * (rank - below)) / count;
    }
    below += count;
  }
  return NaN;
}
