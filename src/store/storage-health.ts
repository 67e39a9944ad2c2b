/**
 * Whether the disk takes writes, judged by the outcome of each commit. After a failure it tries a small write
 * every second, so that the gateway recovers without traffic when space returns.
 */
import type { Clock } from '../lib/clock.js';
import { StoreFailure, type Store } from './store.js';

const probeIntervalMs = 1_000;

export class StorageHealth {
  isHealthy = true;
  /** Unix milliseconds of the last commit that reached the disk; undefined before the first. */
  committedAt: number | undefined;
  #isProbing = false;
  #store: Store | undefined;
  readonly #recovered: (() => void)[] = [];

  constructor(
    readonly clock: Clock,
    /** Called on each change between healthy and not. */
    readonly onChange: (isHealthy: boolean) => void = () => undefined,
  ) {}

  watch(store: Store): void {
    this.#store = store;
  }

  /** `listen` runs each time when writes succeed again after a failure. */
  onRecovery(listen: () => void): void {
    this.#recovered.push(listen);
  }

  /** For the store to call after each commit. */
  readonly noteCommit = (succeeded: boolean): void => {
    if (succeeded) this.committedAt = this.clock.now();
    if (succeeded === this.isHealthy) return;
    this.isHealthy = succeeded;
    this.onChange(succeeded);
    if (succeeded) for (const listen of this.#recovered) listen();
    else this.#probeLater();
  };

  #probeLater(): void {
    if (this.#isProbing) return;
    this.#isProbing = true;
    this.clock.setTimer(probeIntervalMs, () => {
      this.#isProbing = false;
      const store = this.#store;
      if (this.isHealthy || store === undefined) return;
      // Throws when lmdb has given up for good, where a write would never settle: the process ends.
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
