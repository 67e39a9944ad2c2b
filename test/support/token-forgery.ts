/**
 * User tokens as their own gateway would sign them, but with any header and any claims, as text: tokens
 * that a thief of the secret could make, or a library that signs with it for another purpose.
 */
import { createHmac } from 'node:crypto';

export interface TokenText {
  /** The JSON texts of header and claims, and the signature, still encoded. */
  readonly header: string;
  readonly claims: string;
  readonly signature: string;
}

export function openToken(token: string): TokenText {
  const [header = '', claims = '', signature = ''] = token.split('.');
  return { header: decoded(header), claims: decoded(claims), signature };
}

/** @param hash as node:crypto names it. */
export function signToken(
  header: string,
  claims: string,
  secret: string | Buffer,
  hash = 'sha256',
): string {
  return signText(`${encoded(header)}.${encoded(claims)}`, secret, hash);
}

/** Signs two segments that are encoded already, in whatever spelling. */
export function signText(text: string, secret: string | Buffer, hash = 'sha256'): string {
  return `${text}.${createHmac(hash, secret).update(text).digest('base64url')}`;
}

export function encoded(text: string): string {
  return Buffer.from(text).toString('base64url');
}

function decoded(segment: string): string {
  return Buffer.from(segment, 'base64url').toString();
}

/** Another text that decodes to the same bytes: the last letter of a segment has bits to spare. */
export function respelt(segment: string): string | undefined {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  const bytes = Buffer.from(segment, 'base64url');
  return Array.from(alphabet)
    .map((letter) => segment.slice(0, -1) + letter)
    .find((text) => text !== segment && Buffer.from(text, 'base64url').equals(bytes));
}
