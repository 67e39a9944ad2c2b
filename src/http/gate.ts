/**
 * Admits requests, in the contract's order of checks (section 2). For `/api/v1/*`: Public API enabled →
 * credential → the key's rate → plan → scope. For the user-level endpoints: user token → plan. Owns the
 * buckets of keys, of logins and of clients that failed to authenticate; all are lost with the process.
 */
import type { KeyOwner } from '../auth/api-key.js';
import type { KeyUses } from '../auth/api-key-uses.js';
import type { KeyRights } from '../auth/key-rights.js';
import { authenticateUser, type UserTokens } from '../auth/user-token.js';
import type { Clock } from '../lib/clock.js';
import type { Limits } from '../limits.js';
import { BucketMap } from '../quota/token-bucket.js';
import type { Route } from '../routes.js';
import type { User } from '../model/records.js';
import type { Reader } from '../store/store.js';
import type { Exchange } from './exchange.js';

export interface GateDeps {
  readonly store: Reader;
  readonly clock: Clock;
  readonly limits: Limits;
  readonly rights: KeyRights;
  readonly userTokens: UserTokens;
  readonly keyUses: KeyUses;
}

export interface KeyCaller extends KeyOwner {
  /** Monotonic ms. */
  readonly admittedAt: number;
}

export interface Gate {
  /** @returns undefined when the request was rejected and has its response. */
  admitKey(exchange: Exchange, route: Route): KeyCaller | undefined;
  /**
   * Authenticates a caller again if its body arrived later than its head, because its key may have been
   * revoked or its account frozen meanwhile. @returns undefined when the request was rejected and has its
   * response.
   */
  confirm(exchange: Exchange, caller: KeyCaller): KeyCaller | undefined;
  /** @returns undefined when the request was rejected and has its response. */
  admitUser(exchange: Exchange): User | undefined;
  /** Counts a login attempt before its body is read. @returns false when it was rejected and has its response. */
  admitLogin(exchange: Exchange): boolean;
}

const windowSeconds = 60;
/** A body that arrives within this time was in the same packet as its head. */
const freshMs = 1;

export function createGate(deps: GateDeps): Gate {
  const { store, clock, limits, rights } = deps;
  const keyBuckets = new BucketMap<number>(limits.keyRequestsPerMinute, { entriesMax: Infinity });
  const failedAttempts = new BucketMap<string>(limits.unauthenticatedAttemptsPerMinute);
  const logins = new BucketMap<string>(limits.loginAttemptsPerMinute);
  const rateLimitPolicy = `"key";q=${limits.keyRequestsPerMinute};w=${windowSeconds}`;

  function refuseUnauthenticated(exchange: Exchange): undefined {
    const now = clock.monotonic();
    const bucket = failedAttempts.of(exchange.partition, now);
    if (bucket.take(now)) exchange.fail('invalid_api_key');
    else exchange.fail('api_rate_limited', { retryAfter: bucket.retryAfterMs(now) / 1000 });
    return undefined;
  }

  /** Public API enabled → credential. */
  function identify(exchange: Exchange): KeyOwner | undefined {
    const owner = rights.authenticate(exchange.head.bearer);
    if (typeof owner === 'object') return owner;
    if (owner === 'invalid_api_key') return refuseUnauthenticated(exchange);
    exchange.fail(owner);
    return undefined;
  }

  function takeRequest(exchange: Exchange, keyId: number, now: number): boolean {
    const bucket = keyBuckets.of(keyId, now);
    const isGranted = bucket.take(now);
    const seconds = Math.max(1, Math.ceil(bucket.nextFreeMs(now) / 1000));
    exchange.rateLimit = {
      policy: rateLimitPolicy,
      state: `"key";r=${bucket.remaining(now)};t=${seconds}`,
    };
    if (!isGranted) exchange.fail('api_rate_limited', { retryAfter: seconds });
    return isGranted;
  }

  return {
    admitKey(exchange, route) {
      const owner = identify(exchange);
      if (owner === undefined) return undefined;
      const admittedAt = clock.monotonic();
      if (!takeRequest(exchange, owner.key.id, admittedAt)) return undefined;
      deps.keyUses.touch(owner.key.id, clock.now());
      const refusal = rights.refusal(owner, route.scope);
      if (refusal === undefined) return { ...owner, admittedAt };
      exchange.fail(refusal);
      return undefined;
    },

    confirm(exchange, caller) {
      const now = clock.monotonic();
      if (now - caller.admittedAt < freshMs) return caller;
      const owner = identify(exchange);
      if (owner === undefined) return undefined;
      if (rights.isPlanAllowed(owner.user)) return { ...owner, admittedAt: now };
      exchange.fail('business_plan_required');
      return undefined;
    },

    admitUser(exchange) {
      const user = authenticateUser(store, deps.userTokens, exchange.head.bearer);
      if (user !== undefined && rights.isPlanAllowed(user)) return user;
      exchange.fail(user === undefined ? 'invalid_token' : 'business_plan_required');
      return undefined;
    },

    admitLogin(exchange) {
      const now = clock.monotonic();
      const bucket = logins.of(exchange.partition, now);
      if (bucket.take(now)) return true;
      exchange.fail('rate_limit_exceeded', { retryAfter: bucket.retryAfterMs(now) / 1000 });
      return false;
    },
  };
}
