/**
 * The user JWT that login gives out for the key endpoints. Stateless but for the user's token
 * generation: a changed password or a deleted user ends it at once. HS256 alone is accepted, and the
 * type and audience keep out any other token that the same secret might ever sign.
 */
import { createSigner, createVerifier, TokenError } from 'fast-jwt';
import type { Clock } from '../lib/clock.js';
import type { User } from '../store/records.js';
import type { Reader } from '../store/store.js';

export interface UserTokens {
  issue(user: User): string;
  /** @returns undefined for whatever is no valid, unexpired user token of ours. */
  verify(token: string): { userId: string; generation: number } | undefined;
}

interface Claims {
  readonly sub: string;
  readonly gen: number;
  readonly iat: number;
  /** For readers of the token, in whole seconds, rounded up. */
  readonly exp: number;
  /** What we go by: Unix milliseconds, so that a lifetime is kept to the millisecond. */
  readonly until: number;
}

const type = 'user+jwt';
const audience = 'signalbox:user';
/** A token of ours has about 300; longer ones are not worth parsing. */
const tokenLengthMax = 1_024;

export function createUserTokens(options: {
  secret: string | Buffer;
  clock: Clock;
  lifetimeMs: number;
}): UserTokens {
  const { clock, lifetimeMs } = options;
  const key = Buffer.from(options.secret);
  const sign = createSigner<Claims>({
    key,
    algorithm: 'HS256',
    aud: audience,
    header: { alg: 'HS256', typ: type },
  });
  const read = createVerifier<string>({
    key,
    algorithms: ['HS256'],
    checkTyp: type,
    allowedAud: audience,
    requiredClaims: ['aud', 'sub', 'gen', 'until'],
    // Expiry is judged below, by the injected clock.
    ignoreExpiration: true,
  }) as (token: string) => Partial<Claims>;

  return {
    issue(user) {
      const now = clock.now();
      const until = now + lifetimeMs;
      return sign({
        sub: user.userId,
        gen: user.tokenGeneration,
        iat: Math.floor(now / 1000),
        exp: Math.ceil(until / 1000),
        until,
      });
    },

    verify(token) {
      if (token.length > tokenLengthMax || !isCanonical(token)) return undefined;
      const claims = claimsOf(read, token);
      if (typeof claims?.sub !== 'string' || typeof claims.gen !== 'number') return undefined;
      if (typeof claims.until !== 'number' || claims.until <= clock.now()) return undefined;
      return { userId: claims.sub, generation: claims.gen };
    },
  };
}

export function authenticateUser(
  reader: Reader,
  tokens: UserTokens,
  bearer: string,
): User | undefined {
  const claims = tokens.verify(bearer);
  if (claims === undefined) return undefined;
  const user = reader.get('users', claims.userId);
  return user?.tokenGeneration === claims.generation ? user : undefined;
}

/** The last character of a signature has bits to spare: without this, four texts would be one token. */
function isCanonical(token: string): boolean {
  const signature = token.slice(token.lastIndexOf('.') + 1);
  return Buffer.from(signature, 'base64url').toString('base64url') === signature;
}

function claimsOf(
  read: (token: string) => Partial<Claims>,
  token: string,
): Partial<Claims> | undefined {
  try {
    return read(token);
  } catch (error) {
    if (error instanceof TokenError) return undefined;
    throw error;
  }
}
