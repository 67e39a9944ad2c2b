/**
 * Writes that must happen sooner or later, in order: what terminals report and what was sent to
 * them. One group commit is under way at a time; what comes meanwhile joins the next. When a commit
 * fails, nothing behind it goes ahead: all of it is tried again once the disk takes writes, so that
 * a later acknowledgement never covers an earlier loss.
 *
 * `fill` runs at the commit and again at each retry: it must write what is true then, not what was.
 */
import { StoreFailure, type Store, type Writer } from './store.js';

export interface SteadyWrite {
  /** Runs at the commit, and again at each retry. */
  readonly fill: (batch: Writer) => void;
  /** Runs after the flush; never when the process ends first. */
  readonly done?: (() => void) | undefined;
  /** Runs each time when a commit of it failed: it is then tried again later. */
  readonly failed?: (() => void) | undefined;
}

export class SteadyWriter {
  #waiting: SteadyWrite[] = [];
  #isBusy = false;
  #idle: (() => void)[] = [];

  constructor(readonly store: Store) {}

  /** Writes that are not on disk yet. */
  get backlog(): number {
    return this.#waiting.length;
  }

  write(write: SteadyWrite): void {
    this.#waiting.push(write);
    this.retry();
  }

  /** Called when the disk is known to take writes again; harmless at any time. */
  retry(): void {
    if (this.#isBusy || this.#waiting.length === 0) return;
    this.#isBusy = true;
    const group = this.#waiting;
    this.#waiting = [];
    this.store
      .write((batch) => {
        for (const { fill } of group) fill(batch);
      })
      .then(
        () => {
          this.#isBusy = false;
          this.retry();
          for (const { done } of group) done?.();
          this.#tellIdle();
        },
        (error: unknown) => {
          this.#isBusy = false;
          this.#waiting = [...group, ...this.#waiting];
          for (const { failed } of group) failed?.();
          this.#tellIdle();
          if (!(error instanceof StoreFailure)) throw error;
        },
      );
  }

  /** Resolves when nothing is under way: all is on disk, or the disk refuses. */
  settled(): Promise<void> {
    if (!this.#isBusy) return Promise.resolve();
    return new Promise((resolve) => this.#idle.push(resolve));
  }

  #tellIdle(): void {
    if (this.#isBusy) return;
    for (const tell of this.#idle.splice(0)) tell();
  }
}
