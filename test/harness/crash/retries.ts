/** What a bot does once it is quiet: settles what is open, and finds out how much the day still holds. */
import type { Campaign } from './test-run.js';

/** Each answer that settles nothing asks for another attempt, a while later. */
const attemptsMax = 20;
const pauseMs = 200;

/** Asks again, under the same key, for all that got no answer or none that says how it ended. */
export async function settle({ ledger, traders, verdict }: Campaign): Promise<void> {
  for (const operation of [...ledger.open]) {
    for (let i = 0; operation.isOpen && i < attemptsMax; i++) {
      if (i > 0) await new Promise((resolve) => setTimeout(resolve, pauseMs));
      await traders.get(operation.name.user)?.attempt(operation);
    }
    verdict.hold('a retry with the same key settles it', !operation.isOpen, () => operation);
  }
}

/** One by one, until the day is full: exactly as many must be accepted as the limit says. */
export async function fillTheDay({ counted, quota, verdict }: Campaign): Promise<void> {
  for (let left = quota.limit - quota.acceptedToday; left >= 0; left--) await counted.submit();
  const isExact = quota.acceptedToday === quota.limit;
  verdict.hold('exactly as many are accepted as the day allows', isExact, () => ({
    limit: quota.limit,
    accepted: quota.acceptedToday,
  }));
}
