/**
 * What is known of a tenant, a user whom only the operator's changes concern, and what a gateway must
 * answer to each of its credentials then. States are never altered: a change leads to another one.
 */
export interface Credential {
  readonly text: string;
  /** Of an API key; 0 for others. */
  readonly id: number;
  readonly isValid: boolean;
}

export interface TenantState {
  readonly exists: boolean;
  readonly plan: string;
  readonly password: string;
  readonly keys: readonly Credential[];
  /** User JWTs. */
  readonly tokens: readonly Credential[];
  readonly sessions: readonly Credential[];
}

/** What a gateway says to a tenant, credential by credential. */
export interface Standing {
  /** Status of a login with the password. */
  readonly login: number;
  /** Status of the key endpoints for who has just logged in; 0 without a login. */
  readonly plan: number;
  readonly keys: readonly number[];
  readonly tokens: readonly number[];
  /** Status of the upgrade to the plugin protocol. */
  readonly sessions: readonly number[];
}

/** A plan of the test's config without the Public API. */
export const closedPlan = 'closed';
export const openPlan = 'business';

/** Older ones are forgotten: what was revoked long ago has been seen revoked often enough. */
const credentialsKept = 5;

export const unborn: TenantState = {
  exists: false,
  plan: openPlan,
  password: '',
  keys: [],
  tokens: [],
  sessions: [],
};

export function standingOf({ exists, plan, keys, tokens, sessions }: TenantState): Standing {
  const hasPublicApi = plan !== closedPlan;
  const ofPlan = ({ isValid }: Credential): number => (isValid ? (hasPublicApi ? 200 : 403) : 401);
  return {
    login: exists ? 200 : 401,
    plan: exists ? (hasPublicApi ? 200 : 403) : 0,
    keys: keys.map(ofPlan),
    tokens: tokens.map(ofPlan),
    sessions: sessions.map(({ isValid }) => (isValid ? 101 : 401)),
  };
}

export function gained(list: readonly Credential[], text: string, id = 0): Credential[] {
  return [...list, { text, id, isValid: true }].slice(-credentialsKept);
}

export function revoked(list: readonly Credential[], which?: Credential): Credential[] {
  return list.map((each) =>
    which === undefined || each === which ? { ...each, isValid: false } : each,
  );
}

/** Whoever knew the old password is out; API keys stay. */
export function withPassword(state: TenantState, password: string): TenantState {
  return {
    ...state,
    password,
    tokens: revoked(state.tokens),
    sessions: revoked(state.sessions),
  };
}

export function deleted(state: TenantState): TenantState {
  return {
    ...state,
    exists: false,
    keys: revoked(state.keys),
    tokens: revoked(state.tokens),
    sessions: revoked(state.sessions),
  };
}
