/**
 * Defines the response view of an API key, with the fields in the specification's order and without the
 * secret.
 */
import Type, { type Static } from 'typebox';
import { toIsoTime, toIsoTimeOrNull } from '../lib/clock.js';
import { isoTime, isoTimeOrNull, listOf, orNull } from '../lib/json-types.js';
import type { ApiKey } from '../model/records.js';
import { keyLimitsSchema } from './key-limits.js';
import { scope } from './scope-enum.js';

export const apiKeySchema = Type.Object({
  id: Type.Integer(),
  name: Type.String(),
  displayPrefix: Type.String({ description: 'The beginning of the secret, to tell keys apart.' }),
  scopes: listOf(scope),
  createdAt: isoTime,
  expiresAt: isoTimeOrNull,
  lastUsedAt: isoTimeOrNull,
  revokedAt: isoTimeOrNull,
  limits: orNull(keyLimitsSchema),
});

export function toApiKeyView(key: ApiKey, lastUsedAt: number | null): Static<typeof apiKeySchema> {
  return {
    id: key.id,
    name: key.name,
    displayPrefix: key.displayPrefix,
    scopes: key.scopes,
    createdAt: toIsoTime(key.createdAt),
    expiresAt: toIsoTimeOrNull(key.expiresAt),
    lastUsedAt: toIsoTimeOrNull(lastUsedAt),
    revokedAt: toIsoTimeOrNull(key.revokedAt),
    limits: key.limits ?? null,
  };
}
