/**
 * Admits requests, in the contract's order of checks (section 2). For `/api/v1/*`: Public API enabled →
 * credential → the key's addresses → the key's rate → plan → scope. For the user-level endpoints: user token → the
 * user's rate → plan. Owns the buckets of keys, users, logins and clients that failed to authenticate; all are lost
 * with the process.
 */
import type { KeyOwner } from '../auth/api-key.js';
import type { KeyUses } from '../auth/api-key-uses.js';
import { isAddressAllowed } from '../auth/key-limits.js';
import type { KeyRights } from '../auth/key-rights.js';
import { authenticateUser, type UserTokens } from '../auth/user-token.js';
import type { ErrorCode } from '../errors.js';
import type { Clock } from '../lib/clock.js';
import type { Limits } from '../limits.js';
import { BucketMap, type TokenBucket } from '../quota/token-bucket.js';
import type { Route } from '../routes.js';
import type { User } from '../model/records.js';
import type { Reader } from '../store/store.js';
import { constantBytes } from '../lib/text-bytes.js';
import { Turns } from '../lib/turns.js';
import type { Exchange } from './exchange.js';

export interface GateDeps {
  readonly store: Reader;
  readonly clock: Clock;
  readonly limits: Limits;
  readonly rights: KeyRights;
  readonly userTokens: UserTokens;
  readonly keyUses: KeyUses;
}

/** Replaces the limit for all requests. */
export interface BodyBounds {
  readonly bytesMax: number;
  /** The error for a larger body. */
  readonly refusal: ErrorCode;
}

export interface Gate {
  /** @returns undefined when the request was rejected and has its response. */
  admitKey(exchange: Exchange, route: Route): KeyOwner | undefined;
  /**
   * Passes the whole body to `then`, with the caller as it is by then. If the body is refused, or the key was
   * revoked or the account frozen since the head came, the request has its response instead. The bytes are
   * valid only until `then` returns.
   */
  readBody(
    exchange: Exchange,
    caller: KeyOwner,
    then: (caller: KeyOwner, body: Uint8Array) => void,
    bounds?: BodyBounds,
  ): void;
  /** @returns undefined when the request was rejected and has its response. */
  admitUser(exchange: Exchange): User | undefined;
  /** Judges an admitted user again: when the body has come, and in the transaction that makes the change. */
  userRefusal(
    reader: Reader,
    exchange: Exchange,
  ): 'invalid_token' | 'business_plan_required' | undefined;
  /** Counts a login attempt before its body is read. @returns false when it was rejected and has its response. */
  admitLogin(exchange: Exchange): boolean;
}

const windowSeconds = 60;
/**
 * A body up to this size is read as it comes. A larger one may take milliseconds, if it has thousands of
 * members: each turn of the event loop reads one such body, and the users take turns.
 */
const promptBytesMax = 4_096;

export function createGate(deps: GateDeps): Gate {
  const { store, clock, limits, rights } = deps;
  const keyBuckets = new BucketMap<number>(limits.keyRequestsPerMinute, { entriesMax: Infinity });
  const userBuckets = new BucketMap<string>(limits.userRequestsPerMinute, { entriesMax: Infinity });
  const failedAttempts = new BucketMap<string>(limits.unauthenticatedAttemptsPerMinute);
  const logins = new BucketMap<string>(limits.loginAttemptsPerMinute);
  const largeBodies = new Turns();
  const policy = `"key";q=${limits.keyRequestsPerMinute};w=${windowSeconds}`;
  const start = constantBytes(`\r\nRateLimit-Policy: ${policy}\r\nRateLimit: "key";r=`);

  /** @returns false when the bucket is empty, and the request has its response. */
  function takeOne(
    exchange: Exchange,
    buckets: BucketMap<string>,
    whose: string,
    refusal: ErrorCode = 'rate_limit_exceeded',
  ): boolean {
    const now = clock.monotonic();
    const bucket = buckets.of(whose, now);
    if (bucket.take(now)) return true;
    exchange.fail(refusal, { retryAfter: bucket.retryAfterMs(now) / 1000 });
    return false;
  }

  /** Counts a failed attempt to authenticate. @returns false when it is one too many, and has its response. */
  function takeAttempt(exchange: Exchange): boolean {
    return takeOne(exchange, failedAttempts, exchange.partition, 'api_rate_limited');
  }

  /** Public API enabled → credential → address. */
  function identify(exchange: Exchange): KeyOwner | undefined {
    const owner = rights.authenticate(exchange.head.bearer);
    if (typeof owner === 'object') {
      exchange.userId = owner.user.userId;
      exchange.keyId = owner.key.id;
      if (isAddressAllowed(owner.key, exchange)) return owner;
      // Takes nothing from the key's rate: a thief of the key must not use up what its owner may send.
      const now = exchange.request.startedAt;
      tellRate(exchange, keyBuckets.of(owner.key.id, now), now);
      exchange.fail('address_not_allowed');
      return undefined;
    }
    if (owner !== 'invalid_api_key' || takeAttempt(exchange)) exchange.fail(owner);
    return undefined;
  }

  function takeRequest(exchange: Exchange, keyId: number): boolean {
    const now = exchange.request.startedAt;
    const bucket = keyBuckets.of(keyId, now);
    const isGranted = bucket.take(now);
    const seconds = tellRate(exchange, bucket, now);
    if (!isGranted) exchange.fail('api_rate_limited', { retryAfter: seconds });
    return isGranted;
  }

  /** @returns seconds until the next request is free. */
  function tellRate(exchange: Exchange, bucket: TokenBucket, now: number): number {
    const seconds = Math.max(1, Math.ceil(bucket.nextFreeMs(now) / 1000));
    exchange.rateLimit = { start, remaining: bucket.remaining(now), seconds };
    return seconds;
  }

  function confirm(exchange: Exchange, caller: KeyOwner): KeyOwner | undefined {
    // The body came in the same turn as the head: no right can have changed in between.
    if (exchange.isInFirstTurn) return caller;
    const owner = identify(exchange);
    if (owner === undefined) return undefined;
    if (rights.isPlanAllowed(owner.user)) return owner;
    exchange.fail('business_plan_required');
    return undefined;
  }

  return {
    admitKey(exchange, route) {
      const owner = identify(exchange);
      if (owner === undefined) return undefined;
      if (!takeRequest(exchange, owner.key.id)) return undefined;
      deps.keyUses.touch(owner.key, clock.now());
      const refusal = rights.refusal(owner, route.scope);
      if (refusal === undefined) return owner;
      const message = `The API key lacks the scope ${route.scope}.`;
      exchange.fail(refusal, refusal === 'insufficient_scope' ? { message } : {});
      return undefined;
    },

    readBody(exchange, caller, then, bounds) {
      function read(body: Uint8Array): void {
        const confirmed = confirm(exchange, caller);
        if (confirmed !== undefined) then(confirmed, body);
      }
      const take = (body: Uint8Array): void => {
        if (body.length <= promptBytesMax) return read(body);
        const kept = body.slice();
        largeBodies.run(caller.user.userId, exchange, () => read(kept));
      };
      exchange.readBody(bounds?.bytesMax ?? limits.bodyBytesMax, take, bounds?.refusal);
    },

    admitUser(exchange) {
      const user = authenticateUser(store, deps.userTokens, exchange.head.bearer);
      if (user === undefined) {
        exchange.fail('invalid_token');
        return undefined;
      }
      exchange.userId = user.userId;
      if (!takeOne(exchange, userBuckets, user.userId)) return undefined;
      if (rights.isPlanAllowed(user)) return user;
      exchange.fail('business_plan_required');
      return undefined;
    },

    userRefusal(reader, exchange) {
      const user = authenticateUser(reader, deps.userTokens, exchange.head.bearer);
      if (user === undefined) return 'invalid_token';
      return rights.isPlanAllowed(user) ? undefined : 'business_plan_required';
    },

    admitLogin: (exchange) => takeOne(exchange, logins, exchange.partition),
  };
}
