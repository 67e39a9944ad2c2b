/**
 * The state of a tenant, a user whom only the operator's commands change, and the answers that a
 * gateway must give to its credentials. States are immutable.
 */
export interface Credential {
  readonly text: string;
  /** id of an API key; 0 for other credentials. */
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

/** The gateway's answer to each credential of a tenant. */
export interface AccessStatuses {
  /** Status of a login with the password. */
  readonly login: number;
  /** Status of GET /api/api-keys after the login; 0 without a login. */
  readonly plan: number;
  readonly keys: readonly number[];
  readonly tokens: readonly number[];
  /** Status of the upgrade to the plugin protocol. */
  readonly sessions: readonly number[];
}

/** A plan of the harness's config without the Public API. */
export const closedPlan = 'closed';
export const openPlan = 'business';

/** Newest credentials of each kind that are kept; earlier rounds have checked the older ones. */
const credentialsKept = 5;

export const nonexistent: TenantState = {
  exists: false,
  plan: openPlan,
  password: '',
  keys: [],
  tokens: [],
  sessions: [],
};

export function expectedAccess({
  exists,
  plan,
  keys,
  tokens,
  sessions,
}: TenantState): AccessStatuses {
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

/** A new password revokes tokens and sessions, not API keys. */
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
