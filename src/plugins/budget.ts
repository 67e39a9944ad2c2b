/**
 * What a user may send over all of its plugin connections (section 9 of the contract): frames and bytes, each
 * a bucket that refills by its rate and holds ten seconds' worth, less the reports that wait for the disk. Owns each
 * user's balance and its number of connections, for the life of the process.
 */
import type { Clock } from '../lib/clock.js';
import type { Limits } from '../limits.js';

type BudgetLimits = Pick<
  Limits,
  'pluginFramesPerSecond' | 'pluginBytesPerSecond' | 'pluginConnectionsPerUser'
>;

const burstSeconds = 10;
/** After an excess, new connections wait for this part of the burst: a reconnect begins with a redelivery. */
const returnPart = 0.5;
/**
 * An upgrade counts as this many frames, because it and the end of its connection write to the store and the log; at a
 * low rate as no more than half of what has refilled when its user may connect again.
 */
export const framesPerUpgrade = 50;
/**
 * A hello counts as one frame more for so many executions that it tells of, because each may change; and for so many
 * open ones of its source, because the gateway looks through all of them. At a low rate, as no more than a quarter of
 * what has refilled when its user may connect again.
 */
export const executionsPerFrame = { told: 4, open: 256 } as const;
/**
 * A fill of an order whose fills are not in memory counts as one frame more for so many of them, because the gateway
 * reads them first: ten thousand take some twenty milliseconds.
 */
export const fillsPerFrame = 32;

export class UserBudget {
  connections = 0;
  /** Reports that changed an execution and are not durable: while the disk refuses, each takes memory. */
  reportsWaiting = 0;
  #frames: number;
  #bytes: number;
  #refilledAt: number;
  #barredUntil = -Infinity;

  constructor(
    readonly clock: Clock,
    readonly limits: BudgetLimits,
  ) {
    this.#frames = limits.pluginFramesPerSecond * burstSeconds;
    this.#bytes = limits.pluginBytesPerSecond * burstSeconds;
    this.#refilledAt = clock.monotonic();
  }

  get hasFreeConnection(): boolean {
    return this.connections < this.limits.pluginConnectionsPerUser;
  }

  /** @returns false when the user has sent more than its budget; new connections then have to wait. */
  spend(bytes: number, frames = 1): boolean {
    const now = this.clock.monotonic();
    this.#refill(now);
    this.#frames -= frames;
    this.#bytes -= bytes;
    if (this.#frames >= 0 && this.#bytes >= 0) return true;
    // The excess is not kept as a debt: a flood would bar its user for longer than the budget takes to refill.
    this.#frames = Math.max(0, this.#frames);
    this.#bytes = Math.max(0, this.#bytes);
    this.#barredUntil = now + burstSeconds * returnPart * 1_000;
    return false;
  }

  /** @returns as `spend`. */
  spendUpgrade(): boolean {
    return this.spend(0, Math.min(framesPerUpgrade, this.#refilledAtReturn / 2));
  }

  /**
   * @param told executions that the hello tells of.
   * @param open open executions of its source.
   * @returns as `spend`.
   */
  spendHello(told: number, open: number): boolean {
    const frames = Math.floor(told / executionsPerFrame.told + open / executionsPerFrame.open);
    return this.#spendWork(frames);
  }

  /** @param fills that are read from the store for a report. @returns as `spend`. */
  spendFills(fills: number): boolean {
    return this.#spendWork(Math.floor(fills / fillsPerFrame));
  }

  /** At a low rate, counts no more than a quarter of what has refilled when the user may connect again. */
  #spendWork(frames: number): boolean {
    return this.spend(0, Math.min(frames, this.#refilledAtReturn / 4));
  }

  /** Frames that have refilled when the user may connect again. */
  get #refilledAtReturn(): number {
    return this.limits.pluginFramesPerSecond * burstSeconds * returnPart;
  }

  /** Milliseconds until a new connection is allowed again; 0 when it is. */
  get barredMs(): number {
    return Math.max(0, this.#barredUntil - this.clock.monotonic());
  }

  #refill(now: number): void {
    const { pluginFramesPerSecond, pluginBytesPerSecond } = this.limits;
    const seconds = (now - this.#refilledAt) / 1_000;
    const burst = burstSeconds * pluginFramesPerSecond - this.reportsWaiting;
    this.#frames = Math.min(burst, this.#frames + seconds * pluginFramesPerSecond);
    this.#bytes = Math.min(
      burstSeconds * pluginBytesPerSecond,
      this.#bytes + seconds * pluginBytesPerSecond,
    );
    this.#refilledAt = now;
  }
}

export class Budgets {
  readonly #clock: Clock;
  readonly #limits: BudgetLimits;
  /** One per user that has connected, so as many as there are users at most. */
  readonly #byUser = new Map<string, UserBudget>();

  constructor({ clock, limits }: { readonly clock: Clock; readonly limits: BudgetLimits }) {
    this.#clock = clock;
    this.#limits = limits;
  }

  of(userId: string): UserBudget {
    let budget = this.#byUser.get(userId);
    if (budget === undefined) {
      budget = new UserBudget(this.#clock, this.#limits);
      this.#byUser.set(userId, budget);
    }
    return budget;
  }

  /** Drops the budget of a deleted user. */
  forget(userId: string): void {
    this.#byUser.delete(userId);
  }
}
