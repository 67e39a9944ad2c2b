/**
 * Authorizes Public API keys: the Public API must be enabled, the key active, and the owner's plan and the
 * key's scopes must allow the operation. The same rules apply to requests and to open event streams.
 */
import type { Clock } from '../lib/clock.js';
import type { User } from '../model/records.js';
import type { Scope } from '../model/scopes.js';
import type { Plans } from '../plans.js';
import type { Reader } from '../store/store.js';
import { isPublicApiEnabled } from './accounts.js';
import { authenticateApiKey, findActiveKey, type KeyOwner } from './api-key.js';

export interface KeyRightsDeps {
  readonly store: Reader;
  readonly clock: Clock;
  readonly plans: Plans;
}

/** Why a key is refused, in the order of the checks. */
export type KeyRefusal =
  | 'public_api_disabled'
  | 'invalid_api_key'
  | 'business_plan_required'
  | 'insufficient_scope';

export class KeyRights {
  readonly #deps: KeyRightsDeps;

  constructor(deps: KeyRightsDeps) {
    this.#deps = deps;
  }

  /** The first checks of a request: Public API enabled, then the credential. */
  authenticate(secret: string): KeyOwner | 'public_api_disabled' | 'invalid_api_key' {
    const { store, clock } = this.#deps;
    if (!isPublicApiEnabled(store)) return 'public_api_disabled';
    return authenticateApiKey(store, secret, clock.now()) ?? 'invalid_api_key';
  }

  /** Whether the user's plan includes the Public API. */
  isPlanAllowed(user: User): boolean {
    return this.#deps.plans[user.plan]?.publicApi === true;
  }

  /** The checks of an authenticated key: plan, then scope. @param scope null if the route needs none. */
  refusal(
    { user, key }: KeyOwner,
    scope: Scope | null,
  ): 'business_plan_required' | 'insufficient_scope' | undefined {
    if (!this.isPlanAllowed(user)) return 'business_plan_required';
    return scope === null || key.scopes.includes(scope) ? undefined : 'insufficient_scope';
  }

  /** Repeats all checks for an open stream or a request that has waited. Reads key and owner anew. */
  refusalNow({ user, key }: KeyOwner, scope: Scope | null): KeyRefusal | undefined {
    const { store, clock } = this.#deps;
    if (!isPublicApiEnabled(store)) return 'public_api_disabled';
    const found = findActiveKey(store, user.userId, key.id, clock.now());
    return found === undefined ? 'invalid_api_key' : this.refusal(found, scope);
  }
}
