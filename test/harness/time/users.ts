/** The users of a run, one for each limit under test: their keys, terminals and tokens. */
import { hourMs } from '../../../src/lib/durations.js';
import { createKey, login } from '../../support/api.js';
import type { Chance } from '../chance.js';
import { addUser } from '../../support/gateway-process.js';
import { TradingTerminal, type BehaviourWeights } from '../trading-terminal.js';
import type { Verdict } from '../verdict.js';
import type { SignalLog } from './signal-log.js';

export const limits = {
  heartbeatWindowMs: 6_000,
  executionConfirmTimeoutMs: 2_000,
  cancelConfirmTimeoutMs: 1_500,
  idempotencyRetentionMs: hourMs,
  userTokenLifetimeMs: 3 * hourMs,
  keyRequestsPerMinute: 500,
  loginAttemptsPerMinute: 1_000_000,
  unauthenticatedAttemptsPerMinute: 1_000_000,
  userRequestsPerMinute: 1_000_000,
};
const business = { publicApi: true, signalsPerMinute: 100_000, signalsPerDay: 100_000_000 };
export const signalsPerMinute = 40;
export const signalsPerDay = 12;
/** Each user is named after its plan. */
const plans = {
  business,
  quick: { ...business, signalsPerMinute },
  daily: { ...business, signalsPerDay },
};
export const config = { limits, plans };

export interface TestUser {
  readonly email: string;
  readonly sessionToken: string;
  readonly keys: readonly string[];
}

const behaviours: BehaviourWeights = {
  fills: 45,
  fillsInParts: 15,
  rejects: 10,
  rests: 20,
  stalls: 5,
  ignores: 5,
};
const onlyRests: BehaviourWeights = {
  fills: 0,
  fillsInParts: 0,
  rejects: 0,
  rests: 1,
  stalls: 0,
  ignores: 0,
};
/** The rate limit is per key. */
const keysPerPerson = 3;

export async function addUsers(dataDir: string, configFile: string): Promise<void> {
  for (const plan of Object.keys(plans)) {
    await addUser(dataDir, emailOf(plan), plan, ['--config', configFile]);
  }
}

function emailOf(plan: string): string {
  return `${plan}@example.com`;
}

export async function logInUser(url: string, plan: keyof typeof plans): Promise<TestUser> {
  const email = emailOf(plan);
  const { token, sessionToken } = await login(url, email);
  const keys: string[] = [];
  while (keys.length < keysPerPerson) keys.push((await createKey(url, token)).key);
  return { email, sessionToken, keys };
}

export interface Terminals {
  readonly steady: TradingTerminal;
  /** Disconnects and reconnects. */
  readonly reconnecting: TradingTerminal;
  /** Reports every order as working and no more. */
  readonly resting: TradingTerminal;
}

export const accountName = 'Sim101';
export const instances = { steady: 'desk-0', reconnecting: 'desk-1', resting: 'desk-2' } as const;

export function createTerminals(
  signalLog: SignalLog,
  chance: Chance,
  verdict: Verdict,
  /** Whether a stall of this process may have caused the close. */
  isExcused: () => boolean,
): Terminals {
  const make = (instanceId: string, behaviours: BehaviourWeights): TradingTerminal =>
    new TradingTerminal(
      { instanceId, accountName },
      behaviours,
      limits.heartbeatWindowMs / 5,
      chance.child(instanceId),
      {
        onSubmit: (frame, helloAt) => signalLog.arrived(frame, helloAt),
        onReported: (executionId, status) => signalLog.said(executionId, status),
        onClosed: (code, isOwn) => {
          verdict.hold('a terminal that is heard stays', isOwn || isExcused(), () => code);
        },
      },
    );
  return {
    steady: make(instances.steady, behaviours),
    reconnecting: make(instances.reconnecting, behaviours),
    resting: make(instances.resting, onlyRests),
  };
}
