/**
 * Creates and hashes API keys and session tokens. The store holds only their SHA-256. A salt or a slow hash
 * is not needed for 256 random bits; the hash before the lookup prevents timing attacks. Runs inline, because
 * a round trip to a worker costs more (native-notes/hashing.md).
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

/** Cheap format check before the hash and the lookup. */
export function looksLikeSecret(text: string, prefix: string): boolean {
  return text.length === prefix.length + randomLength && text.startsWith(prefix);
}
