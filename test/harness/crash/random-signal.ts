/** Random signals of every type and lifetime, for one terminal, for several or for none. */
import type { Chance } from '../chance.js';

const lifetimes = { instant: 15, short: 25, long: 60 } as const;
const ttlMs: Readonly<Record<keyof typeof lifetimes, readonly [number, number]>> = {
  instant: [120, 600],
  short: [800, 4_000],
  long: [60_000, 60_000],
};
const platforms = ['terminal_a', 'terminal_a', 'terminal_b', 'terminal_a, terminal_b'];
const instances = [undefined, undefined, undefined, 'desk-1', 'desk-9'];

/** Filters of a cancel-all; undefined: without a body. */
export const orderFilters: readonly (Readonly<Record<string, string>> | undefined)[] = [
  undefined,
  {},
  { instrument: 'ES' },
  { platform: 'terminal_a' },
  { platform: 'terminal_b', instrument: 'NQ' },
  { instanceId: 'desk-1' },
];

interface SignalText {
  readonly expiresAt: number;
  readonly body: string;
}

export function randomSignal(chance: Chance, signalId: string): SignalText {
  const [ttlMin, ttlMax] = ttlMs[chance.weigh(lifetimes)];
  const isOrder = chance.happens(0.9);
  const signal = {
    v: 1,
    signalId,
    ts: Date.now(),
    ttlMs: chance.between(ttlMin, ttlMax),
    platform: chance.pick(platforms),
    ...instanceOf(chance),
    ...(isOrder ? { type: 'order', cmd: 'submit' } : { type: 'position', cmd: 'close' }),
    payload: {
      instrument: chance.pick(['ES', 'NQ', 'Gold – Ünze']),
      side: chance.pick(['buy', 'sell']),
      executionType: 'market',
      quantity: chance.between(2, 9),
    },
  };
  return {
    expiresAt: signal.ts + signal.ttlMs,
    body: JSON.stringify(signal, undefined, chance.pick([0, 2])),
  };
}

function instanceOf(chance: Chance): { instanceId?: string } {
  const instanceId = chance.pick(instances);
  return instanceId === undefined ? {} : { instanceId };
}
