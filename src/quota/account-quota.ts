/**
 * Enforces the signal quotas of an account: per 60 seconds (sliding window) and per UTC day. Holds the counts
 * in memory; after a restart, a user's first signal restores them exactly from the accepted requests in the
 * store.
 */
import { dayMs } from '../lib/durations.js';
import type { Clock } from '../lib/clock.js';
import { acceptedAtOf, firstRequestIdAt } from '../lib/ids.js';
import type { Plan } from '../plans.js';
import type { Reader } from '../store/store.js';
import { TokenBucket } from './token-bucket.js';

const windowMs = 60_000;

interface Account {
  capacity: number;
  bucket: TokenBucket;
  /** Days since 1970, UTC. */
  day: number;
  signalsToday: number;
}

export type QuotaVerdict =
  | { readonly granted: true; /** Including this one. */ readonly signalsToday: number }
  | {
      readonly granted: false;
      readonly code: 'daily_signal_limit_exceeded' | 'signal_rate_limit_exceeded';
      readonly retryAfterMs: number;
    };

export class AccountQuota {
  readonly #accounts = new Map<string, Account>();

  constructor(
    readonly store: Reader,
    readonly clock: Clock,
  ) {}

  /** Takes one signal from both quotas, or from neither. */
  take(userId: string, plan: Plan): QuotaVerdict {
    const now = this.clock.now();
    const account = this.#accountOf(userId, plan, now);
    const day = Math.floor(now / dayMs);
    if (day > account.day) account.signalsToday = 0;
    // After a step back of the clock the count stays, and ends at the next midnight of that clock.
    account.day = day;
    if (account.signalsToday >= plan.signalsPerDay) {
      const retryAfterMs = (account.day + 1) * dayMs - now;
      return { granted: false, code: 'daily_signal_limit_exceeded', retryAfterMs };
    }
    const monotonic = this.clock.monotonic();
    if (!account.bucket.take(monotonic)) {
      const retryAfterMs = account.bucket.retryAfterMs(monotonic);
      return { granted: false, code: 'signal_rate_limit_exceeded', retryAfterMs };
    }
    account.signalsToday++;
    return { granted: true, signalsToday: account.signalsToday };
  }

  /** Refunds the daily quota of a signal that was not accepted after all; the per-minute quota stays used. */
  refund(userId: string): void {
    const account = this.#accounts.get(userId);
    if (account !== undefined && account.signalsToday > 0) account.signalsToday--;
  }

  /** Drops the counts of a deleted user. If the user returns, the next signal restores them from the store. */
  forget(userId: string): void {
    this.#accounts.delete(userId);
  }

  #accountOf(userId: string, plan: Plan, now: number): Account {
    const capacity = plan.signalsPerMinute;
    let account = this.#accounts.get(userId);
    if (account === undefined) {
      account = this.#read(userId, capacity, now);
      this.#accounts.set(userId, account);
    } else if (account.capacity !== capacity) {
      // Not restored from the store, which does not yet have the signals in flight.
      account.bucket = account.bucket.resized(capacity);
      account.capacity = capacity;
    }
    return account;
  }

  #read(userId: string, capacity: number, now: number): Account {
    const [latest] = this.store.range('requests', { prefix: [userId], reverse: true, limit: 1 });
    const day = Math.floor((latest?.record.acceptedAt ?? now) / dayMs);
    // Without a limit of `capacity`: if the plan grows later, the window needs every grant.
    const recent = this.store.keys('requests', {
      prefix: [userId],
      start: [userId, firstRequestIdAt(now - windowMs)],
    });
    const monotonic = this.clock.monotonic();
    const bucket = new TokenBucket(capacity, windowMs);
    const sinceMs = ([, requestId]: [string, string]): number => now - acceptedAtOf(requestId);
    bucket.restore(recent.map((key) => monotonic - Math.max(0, sinceMs(key))));
    return { capacity, bucket, day, signalsToday: latest?.record.signalsToday ?? 0 };
  }
}
