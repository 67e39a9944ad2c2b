/**
 * How a terminal of the test treats an order: what it will say, and when. Every manner is one that a
 * real plugin may have; some say less than the gateway would like to hear.
 */

export interface Step {
  /** After the step before it, or after the submit. */
  readonly pauseMs: number;
  /** `ack`, or the status of a report. */
  readonly say: string;
  /** What this report's fill adds. */
  readonly fills: number;
  /** Said twice, under two numbers. */
  readonly isTwice: boolean;
}

const manners = {
  fills: 30,
  fillsAtOnce: 20,
  rests: 20,
  rejects: 10,
  acksOnly: 10,
  saysNothing: 10,
} as const;

/** @param quantity of the order; 0 for a command that is no order. */
export function planSteps(chance: Chance, quantity: number): Step[] {
  const manner = chance.weigh(manners);
  // Most answers come at once; some only after the gateway has given up waiting for them.
  let heldBackMs = chance.happens(0.12) ? chance.between(300, 2_500) : 0;
  const step = (say: string, fills = 0): Step => {
    const pauseMs = heldBackMs + chance.between(0, 25);
    heldBackMs = 0;
    return { pauseMs, say, fills, isTwice: fills > 0 && chance.happens(0.15) };
  };
  const first = chance.happens(0.7) ? [step('ack')] : [];
  if (manner === 'saysNothing') return [];
  if (manner === 'acksOnly') return [step('ack')];
  if (manner === 'rejects') return [...first, step('rejected')];
  if (quantity === 0) return [...first, step('completed')];
  if (manner === 'rests') return [...first, step('working')];
  const part = chance.between(1, quantity - 1);
  if (manner === 'fillsAtOnce') return [...first, step('filled', quantity)];
  return [
    ...first,
    ...(chance.happens(0.5) ? [step('working')] : []),
    step('partially_filled', part),
    step('filled', quantity - part),
  ];
}

/** What becomes of a cancel for an order that still lives. */
import type { Chance } from '../chance.js';
export const cancelManners = {
  cancels: 40,
  reportsCancelled: 15,
  refuses: 15,
  fillsFirst: 15,
  saysNothing: 15,
} as const;
