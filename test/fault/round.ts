/**
 * One round: load, a strike, a restart, and everything checked, first against a gateway that no
 * terminal has told anything yet, then with all terminals back and at rest.
 */
import type { Campaign } from './campaign.js';
import { configOf, settledWithinMs } from './config.js';
import { pickStrike } from './strike.js';

const lanesPerBot = 4;
const replaysPerRound = 40;
/** Attempts to settle one operation; each answer that settles nothing asks for another. */
const settleAttemptsMax = 20;
const settlePauseMs = 200;

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** @returns what was done, for the run's log. */
export async function playRound(campaign: Campaign): Promise<string> {
  const { chance, gateway, ledger, floor, inspector, verdict } = campaign;
  const { name, strike } = pickStrike(chance);
  const loadMs = chance.between(50, 1_500);

  floor.storm();
  const work = Promise.all(campaign.bots.map((bot) => bot.run(lanesPerBot)));
  await sleep(loadMs);
  await strike(gateway, chance, ledger.circumstances);
  for (const bot of campaign.bots) bot.stop();
  await work;

  await restart(campaign);
  inspector.observe(await floor.tell());
  await inspectSources(campaign);
  await settle(campaign);
  inspector.inspectDeliveries();
  await inspector.inspectMoving('after the crash');
  await replaySome(campaign);

  floor.go(gateway.url);
  await fillTheDay(campaign);
  const unrest = await floor.calm();
  verdict.hold('every report is acknowledged in the end', unrest.length === 0, () => unrest);
  inspector.observe(await floor.tell());
  inspector.inspectDeliveries();
  await inspector.inspectMoving('at rest');
  return `${name} after ${loadMs} ms`;
}

/** With the next day's limit a little above what may have been accepted by now. */
async function restart({ chance, gateway, ledger, quota, ...campaign }: Campaign): Promise<void> {
  quota.limit = quota.acceptedToday + ledger.open.size + chance.between(5, 40);
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

/** Asks again, under the same key, for all that got no answer. */
async function settle({ ledger, traders, verdict }: Campaign): Promise<void> {
  for (const operation of [...ledger.open]) {
    for (let i = 0; operation.isOpen && i < settleAttemptsMax; i++) {
      if (i > 0) await sleep(settlePauseMs);
      await traders.get(operation.name.user)?.attempt(operation);
    }
    verdict.hold('a retry with the same key settles it', !operation.isOpen, () => operation);
  }
}

async function replaySome({ chance, ledger, traders }: Campaign): Promise<void> {
  const accepted = ledger.operations.filter((operation) => operation.accepted !== undefined);
  for (let i = 0; i < replaysPerRound && accepted.length > 0; i++) {
    const operation = chance.pick(accepted);
    await traders.get(operation.name.user)?.attempt(operation);
  }
}

/** One by one, until the day is full: exactly as many must be accepted as the limit says. */
async function fillTheDay({ counted, quota, verdict }: Campaign): Promise<void> {
  for (let left = quota.limit - quota.acceptedToday; left >= 0; left--) await counted.submit();
  const isExact = quota.acceptedToday === quota.limit;
  verdict.hold('exactly as many are accepted as the day allows', isExact, () => ({
    limit: quota.limit,
    accepted: quota.acceptedToday,
  }));
}

/** After the last round: waits until nothing moves any more, and checks everything once more. */
export async function finish(campaign: Campaign): Promise<void> {
  const { floor, gateway, inspector, verdict } = campaign;
  const end = performance.now() + settledWithinMs;
  while ((await inspector.inspectMoving('at rest')) > 0 && performance.now() < end)
    await sleep(200);
  const unrest = await floor.calm();
  verdict.hold('every report is acknowledged in the end', unrest.length === 0, () => unrest);
  inspector.observe(await floor.tell());
  inspector.inspectDeliveries();
  await inspector.inspectAll();
  floor.end();
  await gateway.drain();
}
