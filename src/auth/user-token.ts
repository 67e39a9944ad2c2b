/**
 * The user JWT that login gives out for the key endpoints. Stateless but for the user's token
 * generation: a changed password or a deleted user ends it at once. A token is good only if it is,
 * letter for letter, what `issue` would write: that keeps out any other token that the same secret
 * might ever sign, every header that a library could be talked into obeying, and second spellings.
 */
import { createSigner, createVerifier, TokenError } from 'fast-jwt';
import type { Clock } from '../lib/clock.js';
import type { User } from '../model/records.js';
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
  const write = ({ sub, gen, iat, until }: Omit<Claims, 'exp'>): string =>
    sign({ sub, gen, iat, exp: Math.ceil(until / 1000), until });
  const read = createVerifier<string>({
    key,
    algorithms: ['HS256'],
    // Judged below, by the injected clock.
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
      // The signature is known to be right: this comparison has nothing to tell.
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

/** Whole, so that it can be written again as it was read. */
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
