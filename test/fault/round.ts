/**
 * One round: load, a strike, a restart, and everything checked, first against a gateway that no
 * terminal has told anything yet, then with all terminals back and at rest.
 */
import type { Campaign } from './campaign.js';
import { configOf, settledWithinMs } from './config.js';
import { fillTheDay, settle } from './settlement.js';
import { pickStrike } from './strike.js';

const replaysPerRound = 40;

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** `strikes`: a part of the names of those that may come. @returns what was done, for the run's log. */
export async function playRound(campaign: Campaign, strikes: string): Promise<string> {
  const { chance, gateway, floor, inspector, load } = campaign;
  const { name, strike } = pickStrike(campaign, strikes);
  const loadMs = chance.between(50, 1_500);

  floor.storm();
  load.start();
  await sleep(loadMs);
  await strike(campaign);
  await load.stop();

  await restart(campaign);
  inspector.observe(await floor.tell());
  await inspectSources(campaign);
  await settle(campaign);
  inspector.inspectDeliveries();
  await inspector.inspectMoving('after the crash');
  await replaySome(campaign);

  floor.go(gateway.url);
  // A day that is full now leaves nothing to accept under the next load.
  if (chance.happens(0.5)) await fillTheDay(campaign);
  await comeToRest(campaign);
  await inspector.inspectMoving('at rest');
  return `${name} after ${loadMs} ms`;
}

/** With the next day's limit a little above what may have been accepted by now. */
async function restart({ chance, gateway, ledger, quota, ...campaign }: Campaign): Promise<void> {
  quota.limit = quota.acceptedToday + ledger.open.size + chance.between(5, chance.pick([30, 150]));
  const config = configOf(quota.limit);
  while (chance.happens(0.3)) await gateway.startInVain(config, chance.between(20, 600));
  await gateway.start(config);
  ledger.circumstances.isDiskDead = false;
  ledger.circumstances.isDraining = false;
  campaign.moveTraders();
}

/** A terminal that was there before the crash is known after it. */
async function inspectSources({ traders, inspector, verdict }: Campaign): Promise<void> {
  for (const trader of traders.values()) {
    const answer = await trader.get('/api/v1/terminal-events/sources');
    const instances = (answer?.body?.sources as { instanceId: string }[] | undefined)?.length;
    const expected = inspector.places.get(trader.email)?.length;
    verdict.hold('terminals are known over a crash', instances === expected, () => answer?.body);
  }
}

async function replaySome({ chance, ledger, traders }: Campaign): Promise<void> {
  const accepted = ledger.operations.filter((operation) => operation.accepted !== undefined);
  for (let i = 0; i < replaysPerRound && accepted.length > 0; i++) {
    const operation = chance.pick(accepted);
    await traders.get(operation.name.user)?.attempt(operation);
  }
}

/** All terminals are back and have said all that they had to say. */
async function comeToRest({ floor, inspector, verdict }: Campaign): Promise<void> {
  const unrest = await floor.calm();
  verdict.hold('every report is acknowledged in the end', unrest.length === 0, () => unrest);
  inspector.observe(await floor.tell());
  inspector.inspectDeliveries();
}

/** After the last round: waits until nothing moves any more, and checks everything once more. */
export async function finish(campaign: Campaign): Promise<void> {
  const { floor, gateway, inspector } = campaign;
  const end = performance.now() + settledWithinMs;
  while ((await inspector.inspectMoving('at rest')) > 0 && performance.now() < end)
    await sleep(200);
  await comeToRest(campaign);
  await inspector.inspectAll();
  floor.end();
  await gateway.drain();
}
