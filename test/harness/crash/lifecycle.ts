/** Starts the next gateway process on the same data directory, and the load on it. */
import type { TestRun } from './test-run.js';
import { configOf } from './config.js';

export async function startNextWithReaders(run: TestRun): Promise<void> {
  await startNext(run);
  await run.readers.connectTo(run.gateway.url, run.gateway.starts);
}

/**
 * Starts the process without its stream readers. Its daily limit is a little above the number of signals that
 * may have been accepted, so that the run reaches it.
 */
export async function startNext({
  chance,
  gateway,
  ledger,
  quota,
  operator,
  ...run
}: TestRun): Promise<void> {
  quota.limit = quota.acceptedToday + ledger.open.size + chance.between(15, chance.pick([90, 450]));
  const config = configOf(quota.limit);
  while (chance.happens(0.3)) await gateway.killWhileStarting(config, chance.between(20, 600));
  await gateway.start(config);
  ledger.switches.upSince = Date.now();
  ledger.conditions.isDiskDead = false;
  ledger.conditions.isDraining = false;
  run.updateTraderUrls();
  await operator.inspectSwitch();
  await operator.stops.inspect();
}

/** Starts the load of terminals, readers, bots and the operator at the same time. */
export function startLoad({ terminals, readers, load, operator }: TestRun): void {
  terminals.startLoad();
  readers.startLoad();
  load.start();
  operator.start();
}

/** Resolves when the last request and command have ended. */
export async function stopLoad({ load, operator }: TestRun): Promise<void> {
  await Promise.all([load.stop(), operator.stop()]);
}
