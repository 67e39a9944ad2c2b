/**
 * How the gateway under test is set up: time limits short enough to pass many times in a run, rates
 * out of the way, and a daily limit that each life is given anew.
 */
import type { SourceName } from './observation.js';
import { closedPlan } from './tenant-state.js';

/** The shipped plan without the Public API, which the config file gives it: with few signals a day. */
export const countedPlan = 'basic';

const limits = {
  executionConfirmTimeoutMs: 1_200,
  cancelConfirmTimeoutMs: 900,
  keyRequestsPerMinute: 1_000_000,
  loginAttemptsPerMinute: 1_000_000,
  unauthenticatedAttemptsPerMinute: 1_000_000,
  activeKeysPerUserMax: 1_000,
  // A reader that was cut may still count when it is back.
  streamsPerUserMax: 20,
  // Replay reaches back to the beginning of a life, so that only a restart leaves a gap.
  replayEventsMax: 1_000_000,
};
const business = { publicApi: true, signalsPerMinute: 1_000_000, signalsPerDay: 1_000_000_000 };

/** The longest time after which nothing happens by itself any more, once all terminals are at rest. */
export const settledWithinMs = 20_000;

export function configOf(signalsPerDay: number): object {
  const closed = { ...business, publicApi: false };
  const counted = { ...business, signalsPerDay };
  return { limits, plans: { business, [closedPlan]: closed, [countedPlan]: counted } };
}

export interface Member {
  readonly name: string;
  readonly plan: string;
  readonly terminals: readonly SourceName[];
}

const place = (platform: string, instanceId: string, accountName: string): SourceName => ({
  platform,
  instanceId,
  accountName,
});

export const members: readonly Member[] = [
  {
    name: 'ann',
    plan: 'business',
    terminals: [
      place('terminal_a', 'desk-1', 'Sim101'),
      place('terminal_a', 'desk-2', 'Sim102'),
      place('terminal_b', 'desk-1', '4711@Broker-Demo'),
    ],
  },
  {
    name: 'ben',
    plan: 'business',
    terminals: [
      place('terminal_a', 'desk-1', 'Sim101'),
      place('terminal_b', 'desk-3', '4712@Broker-Demo'),
    ],
  },
  { name: 'cleo', plan: countedPlan, terminals: [place('terminal_a', 'desk-1', 'Sim103')] },
];
