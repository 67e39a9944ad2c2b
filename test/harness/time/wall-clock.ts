/**
 * Controls `stepped-clock`: sets the wall clock of the gateway under test, blocks its event loop, and
 * knows the gateway's time and when it was uncertain.
 */
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { eventually } from '../../support/eventually.js';
import { clockFileVariable, doneFile, type ClockCommand } from './stepped-clock.js';

interface Change {
  /** Monotonic ms, from the command to its confirmation. */
  readonly from: number;
  to: number;
  /** Unix ms before it and after it. */
  readonly shown: readonly [before: number, after: number];
}

export class WallClock {
  offsetMs = 0;
  #number = 0;
  readonly #changes: Change[] = [];

  constructor(readonly file: string) {
    this.#write(0);
  }

  /** Environment variables for the gateway's process. */
  get environment(): Readonly<Record<string, string>> {
    // As a URL: a path could have spaces, which separate options.
    const preload = new URL('stepped-clock.js', import.meta.url).href;
    return { NODE_OPTIONS: `--import=${preload}`, [clockFileVariable]: this.file };
  }

  /** Unix milliseconds at the gateway. */
  now(): number {
    return Date.now() + this.offsetMs;
  }

  /** Whether the clock may have been set between these two moments, in monotonic ms. */
  wasSetBetween(from: number, to: number): boolean {
    return this.#changes.some((change) => change.from <= to && from <= change.to);
  }

  /** The times in Unix ms at its changes since a moment in monotonic ms, and now. */
  shownSince(from: number): number[] {
    const changes = this.#changes.filter(({ to }) => from <= to);
    return [...changes.flatMap(({ shown }) => shown), this.now()];
  }

  /** Sets the clock, then blocks the event loop; resolves when both are done. */
  async set(offsetMs: number, holdMs = 0): Promise<void> {
    this.begin(offsetMs, holdMs);
    await this.settled();
  }

  /** As `set`, without waiting: for a process that is suspended. */
  begin(offsetMs: number, holdMs = 0): void {
    if (offsetMs !== this.offsetMs) {
      const shown = [this.now(), Date.now() + offsetMs] as const;
      this.#changes.push({ from: performance.now(), to: Infinity, shown });
    }
    this.offsetMs = offsetMs;
    this.#write(holdMs);
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

  /** Renames into place, so that the gateway never reads a partial file. */
  #write(holdMs: number): void {
    const command: ClockCommand = { number: ++this.#number, offsetMs: this.offsetMs, holdMs };
    writeFileSync(`${this.file}.new`, JSON.stringify(command));
    renameSync(`${this.file}.new`, this.file);
  }
}
