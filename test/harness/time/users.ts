/** Who takes part in a run on time, each for one rule: their keys, terminals and tokens. */
import { createKey, login } from '../../support/api.js';
import type { Chance } from '../chance.js';
import { addUser } from '../../support/gateway-process.js';
import { ReactingTerminal, type Manners } from '../trading-terminal.js';
import type { Verdict } from '../verdict.js';
import type { SignalTrail } from './signal-log.js';

export const limits = {
  heartbeatWindowMs: 6_000,
  executionConfirmTimeoutMs: 2_000,
  cancelConfirmTimeoutMs: 1_500,
  idempotencyRetentionMs: 3_600_000,
  userTokenLifetimeMs: 3 * 3_600_000,
  keyRequestsPerMinute: 500,
  loginAttemptsPerMinute: 1_000_000,
  unauthenticatedAttemptsPerMinute: 1_000_000,
};
const business = { publicApi: true, signalsPerMinute: 100_000, signalsPerDay: 100_000_000 };
export const signalsPerMinute = 40;
export const signalsPerDay = 12;
/** The plans of their owners' names. */
const plans = {
  business,
  quick: { ...business, signalsPerMinute },
  daily: { ...business, signalsPerDay },
};
export const config = { limits, plans };

export interface Person {
  readonly email: string;
  /** User JWT, of the beginning. */
  readonly token: string;
  readonly sessionToken: string;
  readonly keys: readonly string[];
}

const manners: Manners = {
  fills: 45,
  fillsInParts: 15,
  rejects: 10,
  rests: 20,
  stalls: 5,
  ignores: 5,
};
const onlyRests: Manners = {
  fills: 0,
  fillsInParts: 0,
  rejects: 0,
  rests: 1,
  stalls: 0,
  ignores: 0,
};
/** Each of them may make the limit's number of requests. */
const keysPerPerson = 3;

export function addPeople(dataDir: string, configFile: string): void {
  for (const plan of Object.keys(plans)) {
    addUser(dataDir, emailOf(plan), plan, ['--config', configFile]);
  }
}

function emailOf(plan: string): string {
  return `${plan}@example.com`;
}

export async function meet(url: string, plan: keyof typeof plans): Promise<Person> {
  const email = emailOf(plan);
  const { token, sessionToken } = await login(url, email);
  const keys: string[] = [];
  while (keys.length < keysPerPerson) keys.push((await createKey(url, token)).key);
  return { email, token, sessionToken, keys };
}

export interface Terminals {
  readonly steady: ReactingTerminal;
  /** Comes and goes. */
  readonly restless: ReactingTerminal;
  /** Lets every order rest. */
  readonly patient: ReactingTerminal;
}

export const accountName = 'Sim101';
export const instances = { steady: 'desk-0', restless: 'desk-1', patient: 'desk-2' } as const;

export function createTerminals(
  trail: SignalTrail,
  chance: Chance,
  verdict: Verdict,
  /** Whether this process itself may have been too late. */
  isExcused: () => boolean,
): Terminals {
  const make = (instanceId: string, manners: Manners): ReactingTerminal =>
    new ReactingTerminal(
      { instanceId, accountName },
      manners,
      limits.heartbeatWindowMs / 5,
      chance.child(instanceId),
      {
        onSubmit: (frame, helloAt) => trail.arrived(frame, helloAt),
        onSaid: (executionId, status) => trail.said(executionId, status),
        onClosed: (code, isOwn) => {
          verdict.hold('a terminal that is heard stays', isOwn || isExcused(), () => code);
        },
      },
    );
  return {
    steady: make(instances.steady, manners),
    restless: make(instances.restless, manners),
    patient: make(instances.patient, onlyRests),
  };
}
