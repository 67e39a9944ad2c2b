/**
 * The configuration of the gateway under test: timeouts short enough to expire many times in a run,
 * rate limits out of reach, and a daily limit that changes with each restart.
 */
import type { SourceName } from '../../../src/model/source-name.js';
import { closedPlan } from './tenant-state.js';

/** A shipped plan, here with the Public API and few signals per day. */
export const countedPlan = 'basic';

const limits = {
  executionConfirmTimeoutMs: 1_200,
  cancelConfirmTimeoutMs: 900,
  keyRequestsPerMinute: 1_000_000,
  cancelAllsPerMinute: 1_000_000,
  loginAttemptsPerMinute: 1_000_000,
  unauthenticatedAttemptsPerMinute: 1_000_000,
  activeKeysPerUserMax: 1_000,
  // A connection that was cut may still be counted when its reader reconnects.
  streamsPerUserMax: 20,
  // Replay holds every event since the start, so that only a restart leaves a gap.
  replayEventsMax: 1_000_000,
};
const business = { publicApi: true, signalsPerMinute: 1_000_000, signalsPerDay: 1_000_000_000 };

/** With all terminals idle, every timeout of the gateway has passed within this time. */
export const settledWithinMs = 20_000;

/** @param signalsPerDay of the counted plan. */
export function configOf(signalsPerDay = business.signalsPerDay): object {
  const closed = { ...business, publicApi: false };
  const counted = { ...business, signalsPerDay };
  return { limits, plans: { business, [closedPlan]: closed, [countedPlan]: counted } };
}

export interface Member {
  readonly name: string;
  readonly plan: string;
  readonly terminals: readonly SourceName[];
}

const identity = (platform: string, instanceId: string, accountName: string): SourceName => ({
  platform,
  instanceId,
  accountName,
});

export const members: readonly Member[] = [
  {
    name: 'ann',
    plan: 'business',
    terminals: [
      identity('terminal_a', 'desk-1', 'Sim101'),
      identity('terminal_a', 'desk-2', 'Sim102'),
      identity('terminal_b', 'desk-1', '4711@Broker-Demo'),
    ],
  },
  {
    name: 'ben',
    plan: 'business',
    terminals: [
      identity('terminal_a', 'desk-1', 'Sim101'),
      identity('terminal_b', 'desk-3', '4712@Broker-Demo'),
    ],
  },
  { name: 'cleo', plan: countedPlan, terminals: [identity('terminal_a', 'desk-1', 'Sim103')] },
];
