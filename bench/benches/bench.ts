/** What a bench is, and what it is run with. */
import type { Product } from '../measure/product.js';
import type { Row } from '../measure/report.js';
import type { Requirement } from '../measure/requirements.js';
import type { Figures } from '../measure/rounds.js';

export interface BenchOptions {
  /** Samples of each side. */
  readonly rounds: number;
  /** Tiny counts: only shows that the bench works. */
  readonly isSmoke: boolean;
  /** Length of one measurement, without its warm-up. */
  readonly seconds: number;
  /** Length of the load before it, which is not counted. */
  readonly warmupSeconds: number;
  readonly log: (line: string) => void;
  /** The product whose gateway is measured. */
  readonly product: Product;
}

/** The settings of `--smoke`. */
export const smoke = { rounds: 1, seconds: 0.3, warmupSeconds: 0.1, isSmoke: true };

export interface Bench {
  readonly name: string;
  /** One line for `--help`. */
  readonly summary: string;
  readonly needs: readonly Requirement[];
  run(options: BenchOptions): Promise<Row[]>;
  /**
   * One round of the product's side alone, in fresh processes, for bench:compare. A figure whose name
   * ends with PerSecond is better when it is larger, any other when it is smaller. A bench without it
   * is not compared.
   */
  readonly ours?: (options: BenchOptions) => Promise<Figures>;
}
