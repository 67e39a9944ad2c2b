/**
 * Issues and verifies the user token (JWT) for the key endpoints. Stateless except for the user's token
 * generation: a password change, a suspension or the user's deletion revokes it. A token is valid only if it
 * equals, byte for byte, what `issue` would create from its claims: this rejects other tokens signed with the
 * same secret, unexpected headers and alternative encodings.
 */
import { createSigner, createVerifier, TokenError } from 'fast-jwt';
import type { Clock } from '../lib/clock.js';
import type { User } from '../model/records.js';
import type { Reader } from '../store/store.js';

export interface UserTokens {
  issue(user: User): string;
  /** @returns undefined unless the token is a valid, unexpired user token of this gateway. */
  verify(token: string): { userId: string; generation: number } | undefined;
}

interface Claims {
  readonly sub: string;
  readonly gen: number;
  readonly iat: number;
  /** Standard claim for clients, in whole seconds, rounded up. */
  readonly exp: number;
  /** The expiry that `verify` checks, in Unix milliseconds. */
  readonly until: number;
}

const type = 'user+jwt';
const audience = 'signalbox:user';
/** A valid token has about 300 characters; longer ones are rejected without parsing. */
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
  const write = ({ sub, gen, iat, until }: Omit<Claims, 'exp'>): string =>
    sign({ sub, gen, iat, exp: Math.ceil(until / 1000), until });
  const read = createVerifier<string>({
    key,
    algorithms: ['HS256'],
    // Checked below, with the injected clock.
    ignoreExpiration: true,
  }) as (token: string) => Partial<Claims>;

  return {
    issue(user) {
      const now = clock.now();
      return write({
        sub: user.userId,
        gen: user.tokenGeneration,
        iat: Math.floor(now / 1000),
        until: now + lifetimeMs,
      });
    },

    verify(token) {
      if (token.length > tokenLengthMax) return undefined;
      const { sub, gen, iat, until } = claimsOf(read, token) ?? {};
      if (typeof sub !== 'string' || typeof gen !== 'number') return undefined;
      if (!isTime(iat) || !isTime(until)) return undefined;
      // The comparison allows no timing attack: the signature is already verified.
      if (token !== write({ sub, gen, iat, until })) return undefined;
      return until <= clock.now() ? undefined : { userId: sub, generation: gen };
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

/** Whether the value is an integer, so that it is encoded again as it was. */
function isTime(value: unknown): value is number {
  return Number.isSafeInteger(value);
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
