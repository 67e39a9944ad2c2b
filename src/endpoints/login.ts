/** POST /api/auth/login: exchanges email and password for a user token and a session token for plugins. */
import Type, { type Static } from 'typebox';
import { findUser } from '../auth/accounts.js';
import { loginOutline, loginSchema, parseLogin } from '../auth/login-request.js';
import { dummyHash } from '../auth/password.js';
import { createSession, sessionLifetimeMs } from '../auth/session-token.js';
import type { UserTokens } from '../auth/user-token.js';
import type { OpenEndpoint } from '../http/endpoint.js';
import type { Gate } from '../http/gate.js';
import { parseJson } from '../http/json-body.js';
import type { Exchange } from '../http/exchange.js';
import { originOf } from '../http/trail-fields.js';
import type { Clock } from '../lib/clock.js';
import { unknownFields } from '../lib/unknown-fields.js';
import type { Limits } from '../limits.js';
import type { User } from '../model/records.js';
import type { TrailLog } from '../model/trail-events.js';
import type { Reader, Store } from '../store/store.js';
import type { HashPool } from '../workers/hash-pool.js';
import { failUnstored, storeChange, type StoredChangeDeps } from './stored-change.js';

export const loginResultSchema = Type.Object({
  token: Type.String(),
  sessionToken: Type.String(),
  email: Type.String(),
});

export interface LoginDeps extends StoredChangeDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly limits: Limits;
  readonly gate: Gate;
  readonly hashPool: HashPool;
  readonly userTokens: UserTokens;
  readonly trail: TrailLog;
}

/** Retry-After in seconds when the hash pool is full. */
const busyRetryAfter = 2;

export function createLogin(deps: LoginDeps): OpenEndpoint {
  const { store, clock, limits, gate, hashPool, userTokens, trail } = deps;

  async function login(exchange: Exchange, email: string, password: string): Promise<void> {
    const origin = originOf(exchange);
    const user = findUser(store, email);
    exchange.userId = user?.userId;
    const isVerified = await hashPool.verify(user?.passwordHash ?? dummyHash, password);
    if (isVerified === 'busy')
      return exchange.fail('login_unavailable', { retryAfter: busyRetryAfter });
    if (!isVerified || user === undefined) return exchange.fail('invalid_credentials');
    if (!user.confirmed) return exchange.fail('email_not_confirmed');
    let entitled = user;
    // A login that fails here, or whose client has left, may leave a session, which is harmless: no client has its token.
    const session = await storeChange(deps, exchange, failUnstored, () =>
      createSession(store, user, clock.now(), sessionLifetimeMs, (reader) => {
        const now = userNow(reader, user);
        if ('code' in now) return now;
        entitled = now;
        return undefined;
      }),
    );
    if (session === undefined || exchange.isOver) return;
    if (typeof session === 'object') return exchange.fail(session.code);
    trail.note('login', { ...origin, userId: user.userId });
    const body: Static<typeof loginResultSchema> = {
      token: userTokens.issue(entitled),
      sessionToken: session,
      email: user.email,
    };
    exchange.reply(200, JSON.stringify(body), [['Cache-Control', 'no-store, max-age=0']]);
  }

  return (exchange) => {
    if (!gate.admitLogin(exchange)) return;
    if (!exchange.head.isJson) return exchange.fail('unsupported_media_type');
    exchange.readBody(limits.bodyBytesMax, (bytes) => {
      const parsed = parseJson(bytes, limits.jsonDepthMax, loginOutline);
      if (parsed === undefined) return exchange.fail('malformed_json');
      const unknown = unknownFields(parsed.value, loginSchema);
      if (unknown.length > 0) return exchange.fail('unknown_field', { details: unknown });
      const request = parseLogin(parsed.value);
      if (Array.isArray(request)) return exchange.fail('validation_failed', { details: request });
      return login(exchange, request.email, request.password);
    });
  };
}

/**
 * Reads the user again, who may have changed while the password was verified. A user that was suspended and
 * resumed meanwhile has another token generation.
 * @returns the user, or why there is no session.
 */
function userNow(reader: Reader, { userId, passwordHash }: User) {
  const user = reader.get('users', userId);
  if (user?.passwordHash !== passwordHash) return { code: 'invalid_credentials' } as const;
  return user.confirmed ? user : ({ code: 'email_not_confirmed' } as const);
}
