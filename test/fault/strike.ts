/** The ways in which a life of the gateway ends under load. */
import type { Chance } from './chance.js';
import { canBreakDisk, type GatewayLives } from './gateway-lives.js';
import type { Circumstances } from './refusals.js';

export type Strike = (
  gateway: GatewayLives,
  chance: Chance,
  circumstances: Circumstances,
) => Promise<void>;

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

async function breakDisk(
  gateway: GatewayLives,
  chance: Chance,
  circumstances: Circumstances,
): Promise<void> {
  circumstances.isDiskDead = true;
  gateway.breakDisk();
  await gateway.waitUnready();
  await sleep(chance.between(0, 600));
}

/** Each is told with the round; the harder ones come more often. */
const strikes = {
  'killed under load': (gateway) => gateway.kill(),
  'killed while draining': (gateway, chance, circumstances) => {
    circumstances.isDraining = true;
    return gateway.drain(chance.between(0, 250));
  },
  'drained under load': (gateway, _, circumstances) => {
    circumstances.isDraining = true;
    return gateway.drain();
  },
  'killed with a dead disk': async (gateway, chance, circumstances) => {
    await breakDisk(gateway, chance, circumstances);
    await gateway.kill();
  },
  'killed after its disk came back': async (gateway, chance, circumstances) => {
    await breakDisk(gateway, chance, circumstances);
    gateway.mendDisk();
    await gateway.waitMended();
    await sleep(chance.between(0, 400));
    await gateway.kill();
  },
} as const satisfies Record<string, Strike>;

export type StrikeName = keyof typeof strikes;

const weights: Record<StrikeName, number> = {
  'killed under load': 50,
  'killed while draining': 20,
  'drained under load': 10,
  'killed with a dead disk': canBreakDisk ? 10 : 0,
  'killed after its disk came back': canBreakDisk ? 10 : 0,
};

export function pickStrike(chance: Chance): { name: StrikeName; strike: Strike } {
  const name = chance.weigh(weights);
  return { name, strike: strikes[name] };
}
