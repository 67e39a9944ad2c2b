/** The ways in which a life of the gateway ends under load. */
import type { Campaign } from './campaign.js';
import { canBreakDisk } from './dead-disk.js';
import { fillTheDay, settle } from './settlement.js';

type Strike = (campaign: Campaign) => Promise<void>;

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

async function breakDisk({ gateway, ledger, chance }: Campaign): Promise<void> {
  ledger.circumstances.isDiskDead = true;
  gateway.breakDisk();
  await gateway.waitUnready();
  await sleep(chance.between(0, 600));
}

const strikes = {
  'killed under load': ({ gateway }) => gateway.kill(),
  'killed while draining': ({ gateway, ledger, chance }) => {
    ledger.circumstances.isDraining = true;
    return gateway.drain(chance.between(0, 250));
  },
  'drained under load': ({ gateway, ledger }) => {
    ledger.circumstances.isDraining = true;
    return gateway.drain();
  },
  'killed with a dead disk': async (campaign) => {
    await breakDisk(campaign);
    await campaign.gateway.kill();
  },
  'killed after its disk came back': async (campaign) => {
    const { gateway, chance, load } = campaign;
    await breakDisk(campaign);
    gateway.mendDisk();
    await gateway.waitMended();
    await sleep(chance.between(0, 400));
    // What was in doubt must be settled in the same life, without a restart.
    if (gateway.isAlive && chance.happens(0.8)) {
      await load.stop();
      await settle(campaign);
      await fillTheDay(campaign);
    }
    await gateway.kill();
  },
} as const satisfies Record<string, Strike>;

type StrikeName = keyof typeof strikes;

const weights: Readonly<Record<StrikeName, number>> = {
  'killed under load': 50,
  'killed while draining': 20,
  'drained under load': 10,
  'killed with a dead disk': canBreakDisk ? 10 : 0,
  'killed after its disk came back': canBreakDisk ? 10 : 0,
};

/** Only those with `part` in their name; all, where it is empty. */
export function pickStrike(
  { chance }: Campaign,
  part: string,
): { readonly name: string; readonly strike: Strike } {
  const wanted = Object.entries(weights).map(([name, weight]) => [
    name,
    name.includes(part) ? weight : 0,
  ]);
  const name = chance.weigh(Object.fromEntries(wanted) as typeof weights);
  return { name, strike: strikes[name] };
}
