/**
 * The peer's signal quotas of an account: so many in 60 seconds, so many on a UTC day. In memory; the
 * day's count is read back from the newest request when a user is first seen.
 */
import { SlidingWindow } from './sliding-window.js';

const dayMs = 86_400_000;

export class AccountQuota {
  #accounts = new Map();
  #store;

  constructor(store) {
    this.#store = store;
  }

  /** @returns `{ signalsToday }`, or `{ code, retryAfter }` with seconds. */
  take(userId, plan) {
    const now = Date.now();
    const today = Math.floor(now / dayMs);
    const account = this.#accountOf(userId, plan, today);
    if (today > account.day) {
      account.day = today;
      account.signalsToday = 0;
    }
    if (account.signalsToday >= plan.signalsPerDay) {
      const retryAfter = Math.ceil(((today + 1) * dayMs - now) / 1000);
      return { code: 'daily_signal_limit_exceeded', retryAfter };
    }
    const monotonic = performance.now();
    if (!account.window.take(monotonic)) {
      const retryAfter = account.window.secondsToNext(monotonic);
      return { code: 'signal_rate_limit_exceeded', retryAfter };
    }
    account.signalsToday++;
    return { signalsToday: account.signalsToday };
  }

  #accountOf(userId, plan, today) {
    let account = this.#accounts.get(userId);
    if (account === undefined) {
      const latest = this.#store.latestRequest(userId);
      const isToday = latest !== undefined && Math.floor(latest.acceptedAt / dayMs) === today;
      account = {
        window: new SlidingWindow(plan.signalsPerMinute),
        day: today,
        signalsToday: isToday ? latest.signalsToday : 0,
      };
      this.#accounts.set(userId, account);
    }
    return account;
  }
}
