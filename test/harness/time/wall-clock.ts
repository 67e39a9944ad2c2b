/**
 * The other end of `stepped-clock`: sets the wall clock of the gateway under test, holds its loop, and
 * knows what time it is there, and when that was not certain.
 */
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { eventually } from '../../support/eventually.js';
import { clockFileVariable, doneFile, type ClockOrder } from './stepped-clock.js';

export class WallClock {
  offsetMs = 0;
  #number = 0;
  /** Monotonic ms of each change: from its order until it was certainly carried out. */
  readonly #changes: { readonly from: number; to: number }[] = [];

  constructor(readonly file: string) {
    this.#order(0);
  }

  /** What the gateway's process needs. */
  get environment(): Readonly<Record<string, string>> {
    const preload = fileURLToPath(new URL('stepped-clock.js', import.meta.url));
    return { NODE_OPTIONS: `--import=${preload}`, [clockFileVariable]: this.file };
  }

  /** Unix milliseconds at the gateway. */
  now(): number {
    return Date.now() + this.offsetMs;
  }

  /** Whether it was set, or may have been, between these two moments of monotonic time. */
  wasSetBetween(from: number, to: number): boolean {
    return this.#changes.some((change) => change.from <= to && from <= change.to);
  }

  /** Sets it, then holds the loop; resolves when both are over. */
  async set(offsetMs: number, holdMs = 0): Promise<void> {
    this.begin(offsetMs, holdMs);
    await this.settled();
  }

  /** As `set`, without waiting: for a process that is suspended. */
  begin(offsetMs: number, holdMs = 0): void {
    if (offsetMs !== this.offsetMs) {
      this.#changes.push({ from: performance.now(), to: Infinity });
    }
    this.offsetMs = offsetMs;
    this.#order(holdMs);
  }

  async settled(): Promise<void> {
    await eventually(() => this.#doneNumber() === this.#number);
    for (const change of this.#changes) change.to = Math.min(change.to, performance.now());
  }

  #doneNumber(): number {
    try {
      return Number(readFileSync(doneFile(this.file), 'utf8'));
    } catch {
      return 0;
    }
  }

  /** By a new name first: the gateway must never read half an order. */
  #order(holdMs: number): void {
    const order: ClockOrder = { number: ++this.#number, offsetMs: this.offsetMs, holdMs };
    writeFileSync(`${this.file}.new`, JSON.stringify(order));
    renameSync(`${this.file}.new`, this.file);
  }
}
