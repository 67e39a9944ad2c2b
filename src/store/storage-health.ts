/**
 * Whether the disk takes writes: judged by the outcome of each commit, by its free space, and by how long the
 * oldest commit has been under way while the event loop ran. After a failure it tries a small write every second,
 * so that the gateway recovers without traffic when space returns.
 */
import type { Clock, Timer } from '../lib/clock.js';
import { StoreFailure, type Store, type TransactOptions } from './store.js';

/** Also the Retry-After of refused requests: no write is tried earlier. */
export const probeIntervalMs = 1_000;
/** How often a commit that hangs is looked for. */
export const commitLookMs = 250;
/** A commit that takes longer hangs: the gateway is not ready, and no further change is begun. */
export const commitOverdueMs = 2_000;
/** The longest that an answer waits for a commit; after that the outcome of the change is unknown. */
export const commitAnswerMs = 3_000;

export interface HealthEvents {
  /** On each change between healthy and not. */
  readonly onChange?: (isHealthy: boolean) => void;
  /** When the oldest commit becomes overdue, and when none is any more. */
  readonly onOverdue?: (isOverdue: boolean) => void;
}

export class StorageHealth {
  isHealthy = true;
  /** Unix milliseconds of the last commit that reached the disk; undefined before the first. */
  committedAt: number | undefined;
  #probe: Timer | undefined;
  #isStopped = false;
  #wasOverdue = false;
  #lookedAt: number;
  /** When the loop ran again after it was held; monotonic milliseconds. */
  #heldUntil = -Infinity;
  #store: Store | undefined;
  readonly #recovered: (() => void)[] = [];

  constructor(
    readonly clock: Clock,
    readonly events: HealthEvents = {},
  ) {
    this.#lookedAt = clock.monotonic();
  }

  watch(store: Store): void {
    this.#store = store;
  }

  /** `listen` runs each time when writes succeed again after a failure. */
  onRecovery(listen: () => void): void {
    this.#recovered.push(listen);
  }

  /** Milliseconds since the begin of the oldest commit under way; 0 when none is. */
  get commitAgeMs(): number {
    return this.#store?.commitAgeMs() ?? 0;
  }

  /** Whether a commit hangs. */
  get isOverdue(): boolean {
    return this.#wasOverdue && this.commitAgeMs > commitOverdueMs;
  }

  /** Whether a change is refused now: the store would not take it, or it would wait behind a commit that hangs. */
  refuses(options?: TransactOptions): boolean {
    return this.isOverdue || this.#store?.refusal(options) !== undefined;
  }

  /**
   * Judges the oldest commit and the disk, and tells `onOverdue` of a change; to be called every `commitLookMs`. A
   * late call means that the loop was blocked or the process suspended, and could not learn that a commit had ended:
   * the time of a commit under way then counts from now.
   */
  look(): void {
    const now = this.clock.monotonic();
    if (now - this.#lookedAt > 2 * commitLookMs) this.#heldUntil = now;
    this.#lookedAt = now;
    // It tells `noteCommit` of a refusal: without traffic, too, a gateway on a full disk is not ready.
    if (this.isHealthy) this.#store?.refusal();
    const isOverdue = Math.min(this.commitAgeMs, now - this.#heldUntil) > commitOverdueMs;
    if (isOverdue === this.#wasOverdue) return;
    this.#wasOverdue = isOverdue;
    this.events.onOverdue?.(isOverdue);
  }

  /** For the store to call after each commit. */
  readonly noteCommit = (succeeded: boolean): void => {
    if (succeeded) this.committedAt = this.clock.now();
    else this.#probeLater();
    if (succeeded === this.isHealthy) return;
    this.isHealthy = succeeded;
    this.events.onChange?.(succeeded);
    if (succeeded) for (const listen of this.#recovered) listen();
  };

  /** Ends the probes; to be called before the store is closed. */
  stop(): void {
    this.#isStopped = true;
    this.#probe?.cancel();
  }

  #probeLater(): void {
    if (this.#probe !== undefined || this.#isStopped) return;
    this.#probe = this.clock.setTimer(probeIntervalMs, () => {
      this.#probe = undefined;
      const store = this.#store;
      if (this.isHealthy || store === undefined) return;
      // When lmdb has given up for good a write would never settle; a read throws, which ends the process.
      store.get('meta', 'probe');
      store
        .write((batch) => batch.put('meta', 'probe', this.clock.now()))
        .catch((error: unknown) => {
          if (!(error instanceof StoreFailure)) throw error;
          this.#probeLater();
        });
    });
  }
}
