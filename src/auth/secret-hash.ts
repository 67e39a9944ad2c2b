/**
 * How a secret of ours is kept: as its SHA-256, never itself. No salt and no slow hash, because the
 * secrets are 256 random bits; and hashed before the look-up, so that no comparison of secrets leaks
 * time. Inline, since one trip to a worker costs more (native-notes).
 */
import { hash } from 'node:crypto';
import { randomSecret } from '../lib/ids.js';

/** Characters of `randomSecret()`: 256 bits as base64url. */
const randomLength = 43;

export function hashSecret(secret: string): string {
  return hash('sha256', secret, 'base64url');
}

export function newSecret(prefix: string): string {
  return prefix + randomSecret();
}

/** Cheap sight check, so that what cannot be a secret of this kind is neither hashed nor looked up. */
export function looksLikeSecret(text: string, prefix: string): boolean {
  return text.length === prefix.length + randomLength && text.startsWith(prefix);
}
