/** An API key as the specification's record shows it: field by field in its order, never a secret. */
import { toIsoTime } from '../lib/clock.js';
import type { ApiKey } from '../store/records.js';
import type { Scope } from './scopes.js';

export interface ApiKeyView {
  readonly id: number;
  readonly name: string;
  readonly displayPrefix: string;
  readonly scopes: readonly Scope[];
  readonly createdAt: string;
  readonly expiresAt: string | null;
  readonly lastUsedAt: string | null;
  readonly revokedAt: string | null;
}

export function toApiKeyView(key: ApiKey, lastUsedAt: number | null): ApiKeyView {
  return {
    id: key.id,
    name: key.name,
    displayPrefix: key.displayPrefix,
    scopes: key.scopes,
    createdAt: toIsoTime(key.createdAt),
    expiresAt: isoTimeOrNull(key.expiresAt),
    lastUsedAt: isoTimeOrNull(lastUsedAt),
    revokedAt: isoTimeOrNull(key.revokedAt),
  };
}

function isoTimeOrNull(unixMs: number | null): string | null {
  return unixMs === null ? null : toIsoTime(unixMs);
}
