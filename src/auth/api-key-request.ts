/**
 * The body of `POST /api/api-keys`, checked in the contract's order: name, scopes, expiration; the
 * first that is wrong is the answer.
 */
import type { Limits } from '../limits.js';
import { isScope, type Scope } from './scopes.js';
import { parseZonedTime } from './zoned-time.js';

export interface KeyRequest {
  readonly name: string;
  readonly scopes: Scope[];
  /** Unix milliseconds; null means that the key does not expire. */
  readonly expiresAt: number | null;
}

const dayMs = 24 * 60 * 60 * 1000;

export function parseKeyRequest(
  body: unknown,
  limits: Pick<Limits, 'keyNameLengthMax' | 'keyLifetimeDaysMax'>,
  now: number,
): KeyRequest | 'invalid_name' | 'invalid_scopes' | 'invalid_expiration' {
  const fields = typeof body === 'object' && body !== null ? (body as Record<string, unknown>) : {};
  const { name, scopes, expiresAt } = fields;

  const trimmed = typeof name === 'string' ? name.trim() : '';
  if (trimmed === '' || trimmed.length > limits.keyNameLengthMax) return 'invalid_name';

  if (!isScopeList(scopes)) return 'invalid_scopes';

  if (expiresAt === undefined || expiresAt === null) {
    return { name: trimmed, scopes, expiresAt: null };
  }
  const end = typeof expiresAt === 'string' ? parseZonedTime(expiresAt) : undefined;
  if (end === undefined || end <= now || end > now + limits.keyLifetimeDaysMax * dayMs) {
    return 'invalid_expiration';
  }
  return { name: trimmed, scopes, expiresAt: end };
}

function isScopeList(value: unknown): value is Scope[] {
  if (!Array.isArray(value) || value.length === 0) return false;
  return value.every(isScope) && new Set(value).size === value.length;
}
