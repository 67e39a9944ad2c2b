/**
 * Whether a series stays flat, by its Theil–Sen slope: the median of the slopes between all pairs,
 * which a few outliers cannot move. Pure.
 */
import { summarize } from '../../../bench/measure/statistics.js';

export interface Tolerance {
  /** Allowed growth over the whole series, in the unit of its figures. */
  readonly absolute: number;
  /** Allowed growth as a fraction of the median; the larger of both counts. */
  readonly relative: number;
}

export interface Flatness {
  /** Medians of the first and of the last three. */
  readonly first: number;
  readonly last: number;
  /** Per step. */
  readonly slope: number;
  /** Slope times steps. */
  readonly growth: number;
  readonly allowed: number;
  readonly isFlat: boolean;
}

const endLength = 3;

const median = (figures: readonly number[]): number => summarize(figures).median;

export function judgeFlatness(figures: readonly number[], tolerance: Tolerance): Flatness {
  const slope = theilSenSlope(figures);
  const growth = slope * (figures.length - 1);
  const allowed = Math.max(tolerance.absolute, tolerance.relative * median(figures));
  return {
    first: median(figures.slice(0, endLength)),
    last: median(figures.slice(-endLength)),
    slope,
    growth,
    allowed,
    isFlat: growth <= allowed,
  };
}

/** @returns the slope of equidistant figures; 0 for fewer than two. */
export function theilSenSlope(figures: readonly number[]): number {
  const slopes: number[] = [];
  for (let i = 0; i < figures.length; i++) {
    for (let j = i + 1; j < figures.length; j++) {
      slopes.push(((figures[j] as number) - (figures[i] as number)) / (j - i));
    }
  }
  return slopes.length === 0 ? 0 : median(slopes);
}
