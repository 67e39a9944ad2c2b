/** The operator's commands on a tenant: their arguments, and the state that must follow. */
import type { Chance } from '../chance.js';
import type { Tenant } from './tenant.js';
import {
  closedPlan,
  deleted,
  openPlan,
  revoked,
  nonexistent,
  withPassword,
  type TenantState,
} from './tenant-state.js';

export interface TenantChange {
  readonly args: readonly string[];
  /** On standard input. */
  readonly input?: string;
  readonly next: TenantState;
}

/** @returns undefined when there is nothing to change. */
type Maker = (tenant: Tenant, chance: Chance) => TenantChange | undefined;

const makers = {
  'user add': ({ email }, chance) => {
    const plan = chance.pick([openPlan, openPlan, openPlan, closedPlan]);
    const password = newPassword(chance);
    return {
      args: ['user', 'add', email, '--plan', plan, '--password-stdin'],
      input: `${password}\n`,
      next: { ...nonexistent, exists: true, plan, password },
    };
  },
  'user set --plan': ({ email, state }) => {
    const plan = state.plan === openPlan ? closedPlan : openPlan;
    return { args: ['user', 'set', email, '--plan', plan], next: { ...state, plan } };
  },
  'user set --password-stdin': ({ email, state }, chance) => {
    const password = newPassword(chance);
    return {
      args: ['user', 'set', email, '--password-stdin'],
      input: `${password}\n`,
      next: withPassword(state, password),
    };
  },
  'user delete': ({ email, state }) => ({ args: ['user', 'delete', email], next: deleted(state) }),
  'key revoke': ({ state }, chance) => {
    const valid = state.keys.filter(({ isValid }) => isValid);
    if (valid.length === 0) return undefined;
    const key = chance.pick(valid);
    return {
      args: ['key', 'revoke', `${key.id}`],
      next: { ...state, keys: revoked(state.keys, key) },
    };
  },
  'session revoke': ({ email, state }) => ({
    args: ['session', 'revoke', email],
    next: { ...state, sessions: revoked(state.sessions) },
  }),
} as const satisfies Record<string, Maker>;

const weights = {
  'user add': 0,
  'user set --plan': 20,
  'user set --password-stdin': 15,
  'user delete': 10,
  'key revoke': 35,
  'session revoke': 20,
} as const satisfies Record<keyof typeof makers, number>;

export function composeChange(tenant: Tenant, chance: Chance): TenantChange | undefined {
  const name = tenant.state.exists ? chance.weigh(weights) : 'user add';
  return makers[name](tenant, chance);
}

function newPassword(chance: Chance): string {
  return `correct horse ${chance.between(1, 1_000_000_000)}`;
}
