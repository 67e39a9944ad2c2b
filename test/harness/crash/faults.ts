/** The ways in which a life of the gateway ends under load. */
import type { Campaign } from './test-run.js';
import { canBreakDisk } from '../disk/write-failure.js';
import { Keepsake } from './acknowledged-state.js';
import { calmDown, storm, wake } from './lifecycle.js';
import { fillTheDay, settle } from './retries.js';

export type Strike = (campaign: Campaign) => Promise<void>;

const errandWithinMs = 3_000;
/** Signals and operations that a copy is asked for. */
const keptForCopy = 150;

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
  'killed with a command under load': async ({ gateway, operator, chance }) => {
    const errand = await operator.nextErrand(errandWithinMs);
    await sleep(errand?.msUntil(chance.between(50, 105) / 100) ?? 0);
    if (chance.happens(0.7)) errand?.kill();
    await gateway.kill();
  },
  'killed while sweeping under load': async (campaign) => {
    const { gateway, floor, archive, chance } = campaign;
    await gateway.kill();
    await calmDown(campaign);
    await archive.lay();
    // It begins with the start, and is over before long.
    await wake(campaign);
    floor.go(gateway.url);
    storm(campaign);
    await sleep(chance.between(0, 900));
    await gateway.kill();
  },
  'killed during a backup under load': async ({ gateway, ledger, copies, chance }) => {
    const errand = copies.begin(new Keepsake(ledger, keptForCopy));
    const victim = chance.pick(['gateway', 'backup', 'both', 'none']);
    if (victim === 'none') await errand.ended;
    else await sleep(errand.msUntil(chance.between(60, 105) / 100));
    if (victim === 'backup' || victim === 'both') errand.kill();
    if (victim === 'backup') await sleep(chance.between(0, 100));
    await gateway.kill();
  },
  'killed with a dead disk': async (campaign) => {
    await breakDisk(campaign);
    await campaign.gateway.kill();
  },
  'killed after its disk came back': async (campaign) => {
    const { gateway, chance } = campaign;
    await breakDisk(campaign);
    gateway.mendDisk();
    await gateway.waitMended();
    await sleep(chance.between(0, 400));
    // What was in doubt must be settled in the same life, without a restart.
    if (gateway.isAlive && chance.happens(0.8)) {
      await calmDown(campaign);
      await settle(campaign);
      await fillTheDay(campaign);
    }
    await gateway.kill();
  },
} as const satisfies Record<string, Strike>;

type StrikeName = keyof typeof strikes;

const weights: Readonly<Record<StrikeName, number>> = {
  'killed under load': 22,
  'killed while draining': 16,
  'drained under load': 8,
  'killed with a command under load': 14,
  'killed while sweeping under load': 10,
  'killed during a backup under load': 14,
  'killed with a dead disk': canBreakDisk ? 8 : 0,
  'killed after its disk came back': canBreakDisk ? 8 : 0,
};

/**
 * The strikes of a run, of those with `part` in their name, all where it is empty: each kind once, so
 * that a short run has played them all, and then by their weights.
 */
export function* pickStrikes(
  chance: Campaign['chance'],
  part: string,
): Generator<{ readonly name: string; readonly strike: Strike }, never> {
  const wanted = Object.entries(weights).filter(
    ([name, weight]) => name.includes(part) && weight > 0,
  );
  const left = new Map(wanted);
  for (;;) {
    const name = chance.weigh(
      Object.fromEntries(left.size > 0 ? left : wanted) as Record<StrikeName, number>,
    );
    left.delete(name);
    yield { name, strike: strikes[name] };
  }
}
