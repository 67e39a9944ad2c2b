/**
 * Validates the body of `POST /api/api-keys` in the contract's order: name, scopes, expiration. Returns the
 * first error.
 */
import { dayMs } from '../lib/durations.js';
import Type, { type Static } from 'typebox';
import { oneOf, orNull } from '../lib/json-types.js';
import { compileSchema } from '../lib/schema.js';
import type { Limits } from '../limits.js';
import { type Scope, scopes } from '../model/scopes.js';
import { parseZonedTime, zonedTimePattern } from './zoned-time.js';

export interface KeyRequest {
  readonly name: string;
  readonly scopes: readonly Scope[];
  /** Unix milliseconds; null means that the key does not expire. */
  readonly expiresAt: number | null;
}

/** The name is validated after trimming. */
export function keyRequestSchema(limits: Pick<Limits, 'keyNameLengthMax'>) {
  return Type.Object({
    name: Type.String({ minLength: 1, maxLength: limits.keyNameLengthMax }),
    scopes: Type.Array(oneOf(scopes), { minItems: 1, uniqueItems: true }),
    expiresAt: Type.Optional(orNull(Type.String({ pattern: zonedTimePattern.source }))),
  });
}

/** @param now wall time in Unix ms. */
export type KeyRequestReader = (
  body: unknown,
  now: number,
) => KeyRequest | 'invalid_name' | 'invalid_scopes' | 'invalid_expiration';

export function createKeyRequestReader(
  limits: Pick<Limits, 'keyNameLengthMax' | 'keyLifetimeDaysMax'>,
): KeyRequestReader {
  const { properties } = keyRequestSchema(limits);
  const isName = compileSchema(properties.name);
  const isScopeList = compileSchema(properties.scopes);

  return (body, now) => {
    const fields = (typeof body === 'object' && body !== null ? body : {}) as Partial<
      Record<keyof Static<ReturnType<typeof keyRequestSchema>>, unknown>
    >;
    const { scopes, expiresAt } = fields;
    const name = typeof fields.name === 'string' ? fields.name.trim() : fields.name;
    if (!isName(name)) return 'invalid_name';
    if (!isScopeList(scopes)) return 'invalid_scopes';
    if (expiresAt === undefined || expiresAt === null) return { name, scopes, expiresAt: null };
    const end = typeof expiresAt === 'string' ? parseZonedTime(expiresAt) : undefined;
    if (end === undefined || end <= now || end > now + limits.keyLifetimeDaysMax * dayMs) {
      return 'invalid_expiration';
    }
    return { name, scopes, expiresAt: end };
  };
}
