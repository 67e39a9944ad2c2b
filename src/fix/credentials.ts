/** The fields of a Logon that say who logs on: name and password, or a signature by a secret. */
import { createHmac, createSign } from 'node:crypto';
import { errorText } from '../lib/error-text.js';
import { fromFixTime, toFixTime } from './fix-time.js';
import { type Field, optional } from './message.js';
import type { Names } from './session-rules.js';
import { tags } from './tags.js';
import type { CredentialKind } from './venues.js';

export interface Credentials extends Names {
  readonly username: string | undefined;
  /** Password, API secret or private key in PEM, by the venue. */
  readonly secret: string | undefined;
}

/** How long a signed logon is valid. */
const validMs = 5_000;

type Make = (credentials: Credentials, seq: number, sendingTime: string) => readonly Field[];

const makers: Readonly<Record<CredentialKind, Make>> = {
  password: ({ username, secret }) => [
    ...optional(tags.Username, username),
    ...optional(tags.Password, secret),
  ],
  bitvavo: ({ username = '', secret = '', senderCompId }, seq, sendingTime) => {
    const text = `${username}${senderCompId}${seq}${fromFixTime(sendingTime) ?? 0}`;
    const signature = createHmac('sha256', secret).update(text).digest('hex');
    return [
      [tags.Username, username],
      [tags.Password, signature],
    ];
  },
  bybit: ({ username = '', secret = '' }, _seq, sendingTime) => {
    const expires = `${(fromFixTime(sendingTime) ?? 0) + validMs}`;
    const signature = createSign('sha256').update(`GET/realtime${expires}`).sign(secret, 'base64');
    return [
      [tags.Username, username],
      [tags.RawDataLength, `${signature.length}`],
      [tags.RawData, signature],
      [30023, expires],
    ];
  },
};

export function logonFields(
  kind: CredentialKind,
  credentials: Credentials,
  seq: number,
  sendingTime: string,
): readonly Field[] {
  return makers[kind](credentials, seq, sendingTime);
}

/** @returns why the secret cannot sign a logon, undefined if it can: a secret may be missing, or no key. */
export function signingFault(kind: CredentialKind, credentials: Credentials): string | undefined {
  // An HMAC can be made with an empty key.
  if (kind !== 'password' && (credentials.secret ?? '') === '') return 'it is not set';
  try {
    logonFields(kind, credentials, 1, toFixTime(0));
    return undefined;
  } catch (error) {
    return errorText(error);
  }
}
