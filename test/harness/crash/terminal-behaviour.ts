/**
 * How a simulated terminal treats an order: which reports it sends, and when. Every behaviour occurs in
 * real plugins, also those that report less than the gateway waits for.
 */
import type { Chance } from '../chance.js';

export interface Step {
  /** Milliseconds since the previous step, or since the submit. */
  readonly pauseMs: number;
  /** `ack`, or the status of a report. */
  readonly say: string;
  /** Quantity of the report's fill. */
  readonly fills: number;
  /** Reported twice, with two numbers. */
  readonly isTwice: boolean;
}

const behaviours = {
  fills: 30,
  fillsAtOnce: 20,
  rests: 20,
  rejects: 10,
  acksOnly: 10,
  saysNothing: 10,
} as const;

/** @param quantity of the order; 0 for a position command. */
export function planSteps(chance: Chance, quantity: number): Step[] {
  const behaviour = chance.weigh(behaviours);
  // Most answers come at once, some after the gateway's timeout.
  let delayMs = chance.happens(0.12) ? chance.between(300, 2_500) : 0;
  const step = (say: string, fills = 0): Step => {
    const pauseMs = delayMs + chance.between(0, 25);
    delayMs = 0;
    return { pauseMs, say, fills, isTwice: fills > 0 && chance.happens(0.15) };
  };
  const first = chance.happens(0.7) ? [step('ack')] : [];
  if (behaviour === 'saysNothing') return [];
  if (behaviour === 'acksOnly') return [step('ack')];
  if (behaviour === 'rejects') return [...first, step('rejected')];
  if (quantity === 0) return [...first, step('completed')];
  if (behaviour === 'rests') return [...first, step('working')];
  const part = chance.between(1, quantity - 1);
  if (behaviour === 'fillsAtOnce') return [...first, step('filled', quantity)];
  return [
    ...first,
    ...(chance.happens(0.5) ? [step('working')] : []),
    step('partially_filled', part),
    step('filled', quantity - part),
  ];
}

/** Behaviours on a cancel of an order that has not ended. */
export const cancelBehaviours = {
  cancels: 40,
  reportsCancelled: 15,
  refuses: 15,
  fillsFirst: 15,
  saysNothing: 15,
} as const;
