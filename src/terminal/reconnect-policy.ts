/** Defines when a plugin reconnects and when it does not. Source: section 6 of the contract. */
import { hourMs } from '../lib/durations.js';
import { closeCodes, helloTimeoutMs, type CloseReason } from '../plugins/protocol.js';

/** Milliseconds before the first reconnect, the second, and so on; the last one repeats. */
const delaysMs = [1_000, 2_000, 5_000, 10_000] as const;

/** Random jitter, up to this share of the delay, so that terminals do not reconnect in sync. */
const jitterShare = 0.25;

/**
 * @param attempt counts from 0; reset after each welcome.
 * @param askedMs the least delay that the gateway has asked for.
 */
export function reconnectDelayMs(attempt: number, random: () => number, askedMs = 0): number {
  const usualMs = delaysMs[Math.min(attempt, delaysMs.length - 1)] as number;
  const delayMs = Math.max(usualMs, askedMs);
  return Math.round(delayMs * (1 + jitterShare * random()));
}

/** @returns the delay of a `Retry-After` in whole seconds; 0 for anything else, and for more than an hour. */
export function retryAfterMs(header = ''): number {
  const ms = /^\d{1,9}$/.test(header) ? Number(header) * 1_000 : 0;
  return ms <= hourMs ? ms : 0;
}

/**
 * Close codes 4500 to 4999 forbid a reconnect. `bad_protocol` without an `error` frame before it only says that the
 * hello was late, as after a stall of the computer.
 */
export function isForbidden(closeCode: number, hadError: boolean): boolean {
  if (closeCode === closeCodes.bad_protocol && !hadError) return false;
  return closeCode >= 4_500 && closeCode <= 4_999;
}

/** For the operator: why a connection has ended that is tried again. */
export function endedBy(closeCode: number, text: string): string {
  if (closeCode === closeCodes.bad_protocol) {
    return `the gateway got no hello within ${helloTimeoutMs / 1_000} s: the line to it is slow, or this computer paused`;
  }
  return text === '' ? 'the connection has ended' : text;
}

/** Why a plugin stops without a reconnect. `session_refused`: the upgrade got a 401. */
export type RefusalReason = CloseReason | 'session_refused' | 'refused' | 'journal_failed';

export interface Refused {
  readonly reason: RefusalReason;
  readonly closeCode?: number;
  /** For the operator. */
  readonly message: string;
}

// oxfmt-ignore
const messages: Readonly<Partial<Record<RefusalReason, string>>> = {
  session_refused: 'The gateway refuses the session token (401). It is wrong, has expired or was revoked: log in again for a new one.',
  replaced:        'Another terminal has connected with the same platform, instance and account. This one stops, so that the two do not replace each other in turn; give each its own instance name.',
  bad_protocol:    'The gateway rejects the frames of this terminal. Its platform or account name may be wrong, or its version incompatible.',
  too_many_sources: 'The user has too many active terminals at this gateway. Stop one of them, wait two minutes and start this one again.',
  session_revoked: 'The session has expired or was revoked: log in again for a new one.',
};

export function refusedBy(closeCode: number, text: string): Refused {
  const named = (Object.keys(closeCodes) as CloseReason[]).find(
    (reason) => closeCodes[reason] === closeCode,
  );
  const reason = named ?? 'refused';
  const message =
    messages[reason] ?? `The gateway has closed the connection for good (${closeCode} ${text}).`;
  return { reason, closeCode, message };
}

export const sessionRefused: Refused = {
  reason: 'session_refused',
  message: messages.session_refused as string,
};
