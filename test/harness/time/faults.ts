/**
 * The faults of the time harness: what happens to the wall clock, the event loop and the process of
 * the gateway, under traffic.
 */
import type { ChildProcess } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { hourMs, minuteMs } from '../../../src/lib/durations.js';
import type { Chance } from '../chance.js';
import type { WallClock } from './wall-clock.js';

interface FaultContext {
  readonly wall: WallClock;
  readonly process: ChildProcess;
  readonly chance: Chance;
}

/** Largest offset of the wall clock, forward or back. */
const offsetMsMax = 40 * hourMs;
/** Longest time for which the event loop is blocked, and the process suspended. */
const holdMsMax = 5_000;
const suspendMsMax = 9_000;

/** @returns a step of minutes to many hours. */
function stepMs(chance: Chance): number {
  return chance.pick([
    chance.between(2 * minuteMs, 10 * minuteMs),
    chance.between(hourMs / 2, 3 * hourMs),
    chance.between(3 * hourMs, 26 * hourMs),
  ]);
}

/** @returns a length up to `max`, mostly a short one. */
function lengthMs(chance: Chance, max: number): number {
  return chance.happens(0.7) ? chance.between(300, max / 4) : chance.between(max / 4, max);
}

async function step(wall: WallClock, byMs: number, holdMs = 0): Promise<void> {
  await wall.set(within(wall.offsetMs + byMs), holdMs);
}

function within(offsetMs: number): number {
  return Math.max(-offsetMsMax, Math.min(offsetMsMax, offsetMs));
}

async function suspend(process: ChildProcess, ms: number, meanwhile = () => {}): Promise<void> {
  process.kill('SIGSTOP');
  meanwhile();
  await sleep(ms);
  process.kill('SIGCONT');
}

export const faults = {
  async 'stepped forward'({ wall, chance }) {
    await step(wall, stepMs(chance));
  },
  async 'stepped back'({ wall, chance }) {
    await step(wall, -stepMs(chance));
  },
  async 'stepped forward and taken back'({ wall, chance }) {
    const before = wall.offsetMs;
    await step(wall, stepMs(chance));
    await sleep(chance.between(50, 3_000));
    await wall.set(before);
  },
  async 'stepped back and taken forward'({ wall, chance }) {
    const before = wall.offsetMs;
    await step(wall, -stepMs(chance));
    await sleep(chance.between(50, 3_000));
    await wall.set(before);
  },
  async 'stepped to and fro'({ wall, chance }) {
    for (let steps = chance.between(3, 8); steps > 0; steps--) {
      await step(wall, stepMs(chance) * (chance.happens(0.5) ? 1 : -1));
      await sleep(chance.between(0, 300));
    }
  },
  async 'set right again'({ wall }) {
    await wall.set(0);
  },
  async held({ wall, chance }) {
    await wall.set(wall.offsetMs, lengthMs(chance, holdMsMax));
  },
  async 'stepped and held'({ wall, chance }) {
    const by = stepMs(chance) * (chance.happens(0.5) ? 1 : -1);
    await step(wall, by, lengthMs(chance, holdMsMax));
  },
  async suspended({ process, chance }) {
    await suspend(process, lengthMs(chance, suspendMsMax));
  },
  async 'stepped while suspended'({ wall, process, chance }) {
    const by = stepMs(chance) * (chance.happens(0.5) ? 1 : -1);
    await suspend(process, lengthMs(chance, suspendMsMax), () => {
      wall.begin(within(wall.offsetMs + by));
    });
    await wall.settled();
  },
} as const satisfies Record<string, (context: FaultContext) => Promise<void>>;

export type FaultName = keyof typeof faults;

export const faultWeights: Readonly<Record<FaultName, number>> = {
  'stepped forward': 14,
  'stepped back': 14,
  'stepped forward and taken back': 12,
  'stepped back and taken forward': 10,
  'stepped to and fro': 10,
  'set right again': 6,
  held: 10,
  'stepped and held': 8,
  suspended: 8,
  'stepped while suspended': 8,
};
