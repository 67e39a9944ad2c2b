/**
 * Validates the body of `POST /api/api-keys` in the contract's order: name, scopes, expiration, limits. Returns
 * the first error; for the limits, all of their errors.
 */
import { dayMs } from '../lib/durations.js';
import Type from 'typebox';
import { isObject } from '../lib/is-object.js';
import { Outline } from '../lib/json-outline.js';
import { orNull } from '../lib/json-types.js';
import { compileSchema } from '../lib/schema.js';
import type { Limits } from '../limits.js';
import type { Scope } from '../model/scopes.js';
import type { FieldError } from '../errors.js';
import type { KeyLimits } from '../model/records.js';
import { keyLimitsRequestSchema, parseKeyLimits } from './key-limits.js';
import { knownScope } from './scope-enum.js';
import { parseZonedTime, zonedTimePattern } from './zoned-time.js';

export interface KeyRequest {
  readonly name: string;
  readonly scopes: readonly Scope[];
  /** Unix milliseconds; null means that the key does not expire. */
  readonly expiresAt: number | null;
  /** Null means that the key has no limits. */
  readonly limits: KeyLimits | null;
}

/** The name is validated after trimming. */
export function keyRequestSchema(limits: Pick<Limits, 'keyNameLengthMax'>) {
  const fields = {
    name: Type.String({ minLength: 1, maxLength: limits.keyNameLengthMax }),
    scopes: Type.Array(knownScope, { minItems: 1, uniqueItems: true }),
    expiresAt: Type.Optional(
      orNull(
        Type.String({
          pattern: zonedTimePattern.source,
          description: 'When the key expires: ISO 8601 with a time zone.',
          examples: ['2030-01-31T12:00:00Z'],
        }),
      ),
    ),
    limits: Type.Optional(orNull(keyLimitsRequestSchema)),
  };
  return Type.Object(fields, { additionalProperties: false });
}

/** What a `KeyRequestReader` looks at, and the unknown fields. The deepest are the entries of the lists in `limits`. */
export const keyRequestOutline = new Outline(
  [
    ...Object.keys(keyRequestSchema({ keyNameLengthMax: 1 }).properties),
    ...Object.keys(keyLimitsRequestSchema.properties),
  ],
  3,
);

export interface KeyRequestFault {
  readonly code: 'invalid_name' | 'invalid_scopes' | 'invalid_expiration' | 'invalid_limits';
  /** Only for `invalid_limits`. */
  readonly details?: readonly FieldError[];
}

/** @param now wall time in Unix ms. */
export type KeyRequestReader = (body: unknown, now: number) => KeyRequest | KeyRequestFault;

export function createKeyRequestReader(
  limits: Pick<Limits, 'keyNameLengthMax' | 'keyLifetimeDaysMax'>,
): KeyRequestReader {
  const { properties } = keyRequestSchema(limits);
  const isName = compileSchema(properties.name);
  const isScopeList = compileSchema(properties.scopes);

  return (body, now) => {
    const fields: Partial<Record<keyof typeof properties, unknown>> = isObject(body) ? body : {};
    const { scopes, expiresAt } = fields;
    const name = typeof fields.name === 'string' ? fields.name.trim() : fields.name;
    if (!isName(name)) return { code: 'invalid_name' };
    if (!isScopeList(scopes)) return { code: 'invalid_scopes' };
    const end = endOf(expiresAt);
    if (end === undefined) return { code: 'invalid_expiration' };
    if (end !== null && (end <= now || end > now + limits.keyLifetimeDaysMax * dayMs)) {
      return { code: 'invalid_expiration' };
    }
    const keyLimits = parseKeyLimits(fields.limits);
    if (Array.isArray(keyLimits)) return { code: 'invalid_limits', details: keyLimits };
    return { name, scopes, expiresAt: end, limits: keyLimits };
  };
}

/** @returns Unix ms; null for a key that does not expire; undefined if the value is not a time. */
function endOf(expiresAt: unknown): number | null | undefined {
  if (expiresAt === undefined || expiresAt === null) return null;
  return typeof expiresAt === 'string' ? parseZonedTime(expiresAt) : undefined;
}
