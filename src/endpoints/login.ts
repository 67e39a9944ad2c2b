/** POST /api/auth/login: exchanges email and password for a user token and a session token for plugins. */
import Type, { type Static } from 'typebox';
import { findUser } from '../auth/accounts.js';
import { parseLogin } from '../auth/login-request.js';
import { dummyHash } from '../auth/password.js';
import { createSession, sessionLifetimeMs } from '../auth/session-token.js';
import type { UserTokens } from '../auth/user-token.js';
import type { OpenEndpoint } from '../http/endpoint.js';
import type { Gate } from '../http/gate.js';
import { parseJson } from '../http/json-body.js';
import type { Exchange } from '../http/exchange.js';
import type { Clock } from '../lib/clock.js';
import type { Limits } from '../limits.js';
import type { Store } from '../store/store.js';
import type { HashPool } from '../workers/hash-pool.js';

export const loginResultSchema = Type.Object({
  token: Type.String(),
  sessionToken: Type.String(),
  email: Type.String(),
});

export interface LoginDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly limits: Limits;
  readonly gate: Gate;
  readonly hashPool: HashPool;
  readonly userTokens: UserTokens;
}

/** Retry-After in seconds when the hash pool is full. */
const busyRetryAfter = 2;

export function createLogin(deps: LoginDeps): OpenEndpoint {
  const { store, clock, limits, gate, hashPool, userTokens } = deps;

  async function login(exchange: Exchange, email: string, password: string): Promise<void> {
    const user = findUser(store, email);
    const isVerified = await hashPool.verify(user?.passwordHash ?? dummyHash, password);
    if (isVerified === 'busy')
      return exchange.fail('login_unavailable', { retryAfter: busyRetryAfter });
    if (!isVerified || user === undefined) return exchange.fail('invalid_credentials');
    if (!user.confirmed) return exchange.fail('email_not_confirmed');
    const sessionToken = await createSession(store, user, clock.now(), sessionLifetimeMs);
    const body: Static<typeof loginResultSchema> = {
      token: userTokens.issue(user),
      sessionToken,
      email: user.email,
    };
    exchange.reply(200, JSON.stringify(body), [['Cache-Control', 'no-store, max-age=0']]);
  }

  return (exchange) => {
    if (!gate.admitLogin(exchange)) return;
    if (!exchange.head.isJson) return exchange.fail('unsupported_media_type');
    exchange.readBody(limits.bodyBytesMax, (bytes) => {
      const parsed = parseJson(bytes, limits.jsonDepthMax);
      if (parsed === undefined) return exchange.fail('malformed_json');
      const request = parseLogin(parsed.value);
      if (Array.isArray(request)) return exchange.fail('validation_failed', { details: request });
      return login(exchange, request.email, request.password);
    });
  };
}
