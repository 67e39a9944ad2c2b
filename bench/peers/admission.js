/**
 * Who may use the peer, and how often: API key by its SHA-256, the per-key limit with its headers, the
 * limit on failed attempts per address, plan and scope. A Fastify `onRequest` hook, so that a refused
 * request costs no body.
 */
import { hash } from 'node:crypto';
import { SlidingWindows } from './sliding-window.js';

const keyRequestsPerMinute = 1_200;
const failedAttemptsPerMinute = 60;
const rateLimitPolicy = `"key";q=${keyRequestsPerMinute};w=60`;
const bearerPattern = /^bearer +(svc_api_[A-Za-z0-9_-]{43}) *$/i;

export function createAdmission({ store, plans, refuse, scope }) {
  const keyWindows = new SlidingWindows(keyRequestsPerMinute);
  const failedAttempts = new SlidingWindows(failedAttemptsPerMinute);

  function refuseUnknown(request, reply, now) {
    const window = failedAttempts.of(request.ip);
    if (window.take(now)) {
      reply.header('WWW-Authenticate', 'Bearer');
      return refuse(reply, 401, 'invalid_api_key');
    }
    reply.header('Retry-After', window.secondsToNext(now));
    return refuse(reply, 429, 'api_rate_limited');
  }

  return (request, reply, done) => {
    reply.header('X-Trace-Id', request.id);
    const now = performance.now();
    const secret = bearerPattern.exec(request.headers.authorization ?? '')?.[1];
    const caller =
      secret === undefined ? undefined : store.findCaller(hash('sha256', secret, 'base64url'));
    if (caller === undefined || (caller.expiresAt ?? Infinity) <= Date.now()) {
      return refuseUnknown(request, reply, now);
    }
    if (caller.publicApi === 0) return refuse(reply, 503, 'public_api_disabled');
    const window = keyWindows.of(caller.keyId);
    const isGranted = window.take(now);
    const seconds = window.secondsToNext(now);
    reply.header('RateLimit-Policy', rateLimitPolicy);
    reply.header('RateLimit', `"key";r=${window.remaining};t=${seconds}`);
    if (!isGranted) {
      reply.header('Retry-After', seconds);
      return refuse(reply, 429, 'api_rate_limited');
    }
    if (plans[caller.plan]?.publicApi !== true) return refuse(reply, 403, 'business_plan_required');
    if (!caller.scopes.split(' ').includes(scope)) return refuse(reply, 403, 'insufficient_scope');
    request.caller = caller;
    done();
  };
}
