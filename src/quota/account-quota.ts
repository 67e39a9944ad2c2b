/**
 * Enforces the signal quotas of an account: per 60 seconds (sliding window) and per UTC day. Holds the counts
 * in memory; after a restart, a user's first signal restores them exactly from the accepted requests in the
 * store.
 */
import { dayMs } from '../lib/durations.js';
import type { Clock } from '../lib/clock.js';
import { acceptedAtOf, followedRange } from '../lib/ids.js';
import type { SignalRequest } from '../model/records.js';
import type { Plan } from '../plans.js';
import type { Reader } from '../store/store.js';
import { TokenBucket } from './token-bucket.js';

const windowMs = 60_000;

/** Acceptances read back at most, unless the plan grants more a minute: the plan may grow later. */
const acceptedKeptMin = 1_000;
const keysPerRead = 64;

interface Account {
  capacity: number;
  bucket: TokenBucket;
  /** Days since 1970, UTC. */
  day: number;
  /** Requests of the day that were accepted for certain. */
  accepted: number;
  /** Requests of the day that are in flight or in doubt, oldest first; mostly decided in that order. */
  undecided: string[];
}

/** The part of the day's count that the record of a request keeps. */
export type CountOfDay = Pick<SignalRequest, 'signalsToday' | 'undecidedFrom'>;

export type QuotaVerdict =
  | { readonly granted: true }
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

  /** Takes one signal from the minute's quota, unless the day's is used up; `count` takes it from the day's. */
  take(userId: string, plan: Plan, now: number): QuotaVerdict {
    const account = this.#accountOf(userId, plan, now);
    const day = Math.floor(now / dayMs);
    if (day > account.day) {
      account.accepted = 0;
      account.undecided = [];
    }
    // After a step back of the clock the count stays until the next midnight of that clock.
    account.day = day;
    if (account.accepted + account.undecided.length >= plan.signalsPerDay) {
      const retryAfterMs = (account.day + 1) * dayMs - now;
      return { granted: false, code: 'daily_signal_limit_exceeded', retryAfterMs };
    }
    const monotonic = this.clock.monotonic();
    if (!account.bucket.take(monotonic)) {
      const retryAfterMs = account.bucket.retryAfterMs(monotonic);
      return { granted: false, code: 'signal_rate_limit_exceeded', retryAfterMs };
    }
    return { granted: true };
  }

  /** Counts a request that was just granted, until `decide` says what became of it. */
  count(userId: string, requestId: string): CountOfDay {
    const { accepted, undecided } = this.#accounts.get(userId) as Account;
    const [undecidedFrom] = undecided;
    undecided.push(requestId);
    return { signalsToday: accepted + 1, undecidedFrom };
  }

  /** Refunds the day's quota for a request that was not accepted; the quota per minute stays used. */
  decide(userId: string, requestId: string, isAccepted: boolean): void {
    const account = this.#accounts.get(userId);
    // -1 for a request of an earlier day, or of a user who was deleted meanwhile.
    const place = account?.undecided.indexOf(requestId) ?? -1;
    if (account === undefined || place < 0) return;
    account.undecided.splice(place, 1);
    if (isAccepted) account.accepted++;
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
      // Does not read the store, which does not yet have the signals in flight.
      account.bucket = account.bucket.resized(capacity);
      account.capacity = capacity;
    }
    return account;
  }

  #read(userId: string, capacity: number, now: number): Account {
    const [latest] = this.store.range('requests', { ...followedRange(userId, now), limit: 1 });
    const day = Math.floor((latest?.record.acceptedAt ?? now) / dayMs);
    const monotonic = this.clock.monotonic();
    const bucket = new TokenBucket(capacity, windowMs);
    const countMax = Math.max(capacity, acceptedKeptMin);
    const ages = this.#acceptedInWindow(userId, now, countMax).map((at) => Math.max(0, now - at));
    bucket.restore(ages.map((ageMs) => monotonic - ageMs));
    const accepted = latest === undefined ? 0 : this.#countAt(userId, latest.record, countMax);
    return { capacity, bucket, day, accepted, undecided: [] };
  }

  /**
   * Counts the requests that were undecided when this one was accepted: they are in the store by now, or were
   * refused.
   * @param countMax most of them, as many as a minute grants: while a commit hangs for longer, new signals
   * are refused. An imported record may name the user's first request, and counting all since then would hold
   * up every user.
   */
  #countAt(
    userId: string,
    { requestId, signalsToday, undecidedFrom }: SignalRequest,
    countMax: number,
  ): number {
    if (undecidedFrom === undefined) return signalsToday;
    const meanwhile = this.store.keys('requests', {
      start: [userId, undecidedFrom],
      end: [userId, requestId],
      limit: countMax,
    });
    return signalsToday + meanwhile.length;
  }

  /**
   * Reads the newest acceptances of the window, also beyond the capacity: they count if the plan grows later.
   * @returns Unix milliseconds of each acceptance, the newest first.
   */
  #acceptedInWindow(userId: string, now: number, countMax: number): number[] {
    const accepted: number[] = [];
    for (const acceptedAt of this.#acceptedBackFrom(userId, now)) {
      if (acceptedAt < now - windowMs || accepted.length >= countMax) break;
      accepted.push(acceptedAt);
    }
    return accepted;
  }

  /** Skips ids dated too far ahead (`followedRange`): a minute later they would still count as of now. */
  *#acceptedBackFrom(userId: string, now: number): Generator<number, void, void> {
    const followed = followedRange(userId, now);
    let start: [string, string] | undefined = followed.start;
    let after: number | undefined;
    while (start !== undefined) {
      const range = { ...followed, start, limit: keysPerRead + 1 };
      const keys: [string, string][] = this.store.keys('requests', range);
      const datedAt = keys.map(([, requestId]) => acceptedAtOf(requestId));
      for (const [i, key] of keys.slice(0, keysPerRead).entries()) {
        const dated = datedAt[i] as number;
        // After the clock stepped back, ids keep the time before the step: they crowd into one millisecond.
        const isCrowded = dated === after || dated === datedAt[i + 1];
        yield (isCrowded ? this.store.get('requests', key)?.acceptedAt : undefined) ?? dated;
        after = dated;
      }
      start = keys[keysPerRead];
    }
  }
}
