/** What the bots do after the load: retry open operations, and use up the daily quota. */
import { setTimeout as pause } from 'node:timers/promises';
import type { TestRun } from './test-run.js';

/** An answer that does not say how the operation ended is followed by another attempt. */
const attemptsMax = 20;
const pauseMs = 200;

/** Retries every open operation under its Idempotency-Key until an answer says how it ended. */
export async function retryOpenOperations({
  gateway,
  ledger,
  traders,
  verdict,
}: Pick<TestRun, 'ledger' | 'traders' | 'verdict'> &
  Partial<Pick<TestRun, 'gateway'>>): Promise<void> {
  for (const operation of [...ledger.open]) {
    for (let i = 0; operation.isOpen && i < attemptsMax; i++) {
      if (i > 0) await pause(pauseMs);
      await traders.get(operation.name.user)?.attempt(operation);
    }
    if (gateway?.hasAborted === true) return;
    verdict.hold('a retry with the same key settles it', !operation.isOpen, () => operation);
  }
}

/** Submits signals, some at once: exactly as many must be accepted as the daily limit allows. */
export async function exhaustDailyQuota(run: TestRun): Promise<void> {
  const { counted, gateway, quota, verdict, operator } = run;
  if (!(await operator.stops.endAll())) return;
  // A disk that hangs, as on a busy machine, refuses signals for a while.
  for (let failed = 0; quota.acceptedToday < quota.limit && failed < attemptsMax;) {
    const before = quota.acceptedToday;
    await Promise.all(Array.from({ length: counted.lanes }, () => counted.submit()));
    failed = quota.acceptedToday > before ? 0 : failed + 1;
    if (failed > 0) await pause(pauseMs);
  }
  await retryOpenOperations(run);
  await counted.submit();
  if (gateway.hasAborted) return;
  const isExact = quota.acceptedToday === quota.limit;
  verdict.hold('exactly as many are accepted as the day allows', isExact, () => ({
    limit: quota.limit,
    accepted: quota.acceptedToday,
  }));
}
