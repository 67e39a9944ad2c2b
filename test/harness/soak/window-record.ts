/** The readings of a soak by window, and their table and judgement at the end. */
import { columns } from '../../../src/lib/columns.js';
import type { Verdict } from '../verdict.js';
import { judgeFlatness } from './flatness.js';
import { gauges, type Gauge, type GaugeName, type Reading } from './gauges.js';

/** Part of the run that is not judged: caches fill and the compiler optimizes. */
const warmUpPart = 1 / 3;

const names = Object.keys(gauges) as GaugeName[];

export class WindowRecord {
  readonly #windows: Reading[] = [];
  #least: Partial<Reading> = {};

  take(reading: Partial<Reading>): void {
    for (const name of names) {
      const figure = reading[name];
      if (figure !== undefined) this.#least[name] = Math.min(this.#least[name] ?? figure, figure);
    }
  }

  /** Ends the window. Call it when each figure was taken at least once in the window. */
  endWindow(): Reading {
    const ended = this.#least as Reading;
    this.#windows.push(ended);
    this.#least = {};
    return ended;
  }

  /** @returns the table. */
  judge(verdict: Verdict, minutes: number, windowMs: number): string {
    const judged = this.#windows.slice(Math.floor(this.#windows.length * warmUpPart));
    const rows = names.map((name) => {
      const gauge: Gauge = gauges[name];
      const figures = judged.map((reading) => reading[name]);
      const flatness = judgeFlatness(figures, gauge);
      const isJudged = minutes >= gauge.minutesMin;
      if (isJudged) {
        verdict.hold(`${name} stays flat`, flatness.isFlat, () => ({ flatness, figures }));
      }
      const show = (value: number): string => formatted(value, gauge);
      return [
        name,
        show(flatness.first),
        show(flatness.last),
        show((flatness.slope * 3_600_000) / windowMs),
        show(flatness.growth),
        show(flatness.allowed),
        !isJudged
          ? `not judged below ${gauge.minutesMin} minutes`
          : flatness.isFlat
            ? 'flat'
            : 'GROWS',
      ];
    });
    const heads = ['', 'first', 'last', 'slope/h', 'growth', 'allowed', ''];
    const length = `${judged.length} windows of ${windowMs / 1000} s after warm-up`;
    return `${length}:\n${columns([heads, ...rows])}`;
  }
}

export function formatted(value: number, { unit }: Pick<Gauge, 'unit'>): string {
  return unit === 'MB' ? `${(value / 2 ** 20).toFixed(1)} MB` : value.toFixed(0);
}
