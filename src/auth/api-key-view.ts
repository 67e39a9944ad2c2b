/**
 * Defines the response view of an API key, with the fields in the specification's order and without the
 * secret.
 */
import Type, { type Static } from 'typebox';
import { toIsoTime, toIsoTimeOrNull } from '../lib/clock.js';
import { isoTime, isoTimeOrNull, listOf, oneOf } from '../lib/json-types.js';
import type { ApiKey } from '../model/records.js';
import { scopes } from '../model/scopes.js';

export const apiKeySchema = Type.Object({
  id: Type.Integer(),
  name: Type.String(),
  displayPrefix: Type.String(),
  scopes: listOf(oneOf(scopes)),
  createdAt: isoTime,
  expiresAt: isoTimeOrNull,
  lastUsedAt: isoTimeOrNull,
  revokedAt: isoTimeOrNull,
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
  };
}
