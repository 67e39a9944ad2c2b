/** What the gateway counts and measures of itself, read from its metrics as `signalbox stats` does. */
import { parseScrape, type Scrape, sumOf } from '../../src/stats/scrape.js';

/** @param url of the ops port. */
export async function scrape(url: string): Promise<Scrape> {
  return parseScrape(await (await fetch(`${url}/metrics`)).text());
}

/** @param names of counters or gauges, without the prefix `signalbox_`. */
export async function scrapeValues(url: string, names: readonly string[]): Promise<number[]> {
  const found = await scrape(url);
  return names.map((name) => {
    const value = sumOf(found, name);
    if (value === undefined) throw new Error(`the metrics hold no ${name}`);
    return value;
  });
}
