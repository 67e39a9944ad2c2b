/** How the next life of the gateway begins, and what everyone does while it is under load. */
import type { Campaign } from './test-run.js';
import { configOf } from './config.js';

export async function beginLife(campaign: Campaign): Promise<void> {
  await wake(campaign);
  await campaign.audience.go(campaign.gateway.url, campaign.gateway.lives);
}

/** Before its readers are back. The next day's limit is a little above what may be accepted by now. */
export async function wake({
  chance,
  gateway,
  ledger,
  quota,
  operator,
  ...campaign
}: Campaign): Promise<void> {
  quota.limit = quota.acceptedToday + ledger.open.size + chance.between(5, chance.pick([30, 150]));
  const config = configOf(quota.limit);
  while (chance.happens(0.3)) await gateway.startInVain(config, chance.between(20, 600));
  await gateway.start(config);
  ledger.circumstances.isDiskDead = false;
  ledger.circumstances.isDraining = false;
  campaign.moveTraders();
  await operator.inspectSwitch();
}

/** Terminals, readers, bots and the operator, all at once. */
export function storm({ floor, audience, load, operator }: Campaign): void {
  floor.storm();
  audience.storm();
  load.start();
  operator.start();
}

/** Resolves when nothing is under way any more. */
export async function calmDown({ load, operator }: Campaign): Promise<void> {
  await Promise.all([load.stop(), operator.stop()]);
}
