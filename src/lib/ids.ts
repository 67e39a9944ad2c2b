/**
 * Creates and parses identifiers and secrets. Each signal request has a ULID; the ids of its executions, orders
 * and cancels are derived from it, so the store needs no index between them. ULIDs are monotonic even if the wall clock steps
 * back by up to a day: their order is the order of acceptance.
 */
import { randomBytes, randomFillSync } from 'node:crypto';
import { decodeTime, monotonicFactory } from 'ulid';
import type { Clock } from './clock.js';
import { dayMs } from './durations.js';

export interface IdSource {
  /** 26 characters of Crockford base32, greater than the one before unless that is dated more than a day ahead. */
  ulid(): string;
}

/** A clock that was further ahead was wrong: ids that follow it would keep their requests for too long. */
const aheadMsMax = dayMs;

/** Range of a user's stored requests that new ids have to follow at `now` (Unix milliseconds), newest first. */
export function followedRange(userId: string, now: number) {
  const start: [string, string] = [userId, firstRequestIdAt(now + aheadMsMax + 1)];
  return { prefix: [userId] as [string], start, reverse: true };
}

/** @param newest the requestId that all ids have to follow, such as one from before a restart. */
export function createIdSource(clock: Pick<Clock, 'now'>, newest?: string): IdSource {
  const draw = pooledRandom();
  let next = monotonicFactory(draw);
  let latest = newest === undefined ? 0 : acceptedAtOf(newest) + 1;
  return {
    ulid() {
      const now = clock.now();
      if (latest - now > aheadMsMax) {
        next = monotonicFactory(draw);
        latest = now;
      }
      latest = Math.max(now, latest);
      return next(latest);
    },
  };
}

/**
 * Random numbers from the system's CSPRNG, read in blocks of 4 KiB: a ULID needs 16 numbers, and a system call
 * for each would dominate the cost of an id. Each byte is used once.
 */
function pooledRandom(): () => number {
  const pool = Buffer.alloc(4096);
  let next = pool.length;
  return () => {
    if (next === pool.length) {
      randomFillSync(pool);
      next = 0;
    }
    return (pool[next++] as number) / 256;
  };
}

const ulidPattern = '[0-7][0-9A-HJKMNP-TV-Z]{25}';
const requestIdPattern = new RegExp(`^req_${ulidPattern}$`);
/** Up to a million executions of one request; `executionsPerSignal` allows fewer, earlier versions did not. */
const index = '(0|[1-9][0-9]{0,5})';
const executionPattern = new RegExp(`^(?:exe|ord)_(${ulidPattern})_${index}$`);
const cancelPattern = new RegExp(`^can_(${ulidPattern})_${index}_([1-9][0-9]{0,8})$`);

export function requestIdOf(ulid: string): string {
  return `req_${ulid}`;
}

export function isRequestId(text: string): boolean {
  return requestIdPattern.test(text);
}

/** @returns the smallest ULID of `unixMs` or later. */
export function firstUlidAt(unixMs: number): string {
  const base32 = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
  let time = Math.max(0, unixMs);
  let text = '';
  for (let i = 0; i < 10; i++) {
    text = base32.charAt(time % 32) + text;
    time = Math.floor(time / 32);
  }
  return `${text}${'0'.repeat(16)}`;
}

/** @returns the smallest requestId of requests accepted at `unixMs` or later: the start of a range scan. */
export function firstRequestIdAt(unixMs: number): string {
  return requestIdOf(firstUlidAt(unixMs));
}

/** Unix milliseconds at which the request was accepted. */
export function acceptedAtOf(requestId: string): number {
  return decodeTime(requestId.slice(4));
}

/** `index` counts a request's executions from 0. */
export function executionIdOf(requestId: string, index: number): string {
  return `exe_${requestId.slice(4)}_${index}`;
}

/** Bounds of the store's keys of all executions of a user's requests from the first to the last one. */
export function executionStretch(
  userId: string,
  firstRequestId: string,
  lastRequestId: string,
): { readonly start: [string, string]; readonly end: [string, string] } {
  return {
    start: [userId, executionIdOf(firstRequestId, 0)],
    // `:` is the character after the digits, with which an id ends.
    end: [userId, `${executionIdOf(lastRequestId, 0).slice(0, -1)}:`],
  };
}

export function orderRefOf(executionId: string): string {
  return `ord_${executionId.slice(4)}`;
}

export function cancelAllIdOf(ulid: string): string {
  return `cal_${ulid}`;
}

/** `attempt` counts an execution's cancels from 1. */
export function cancelRequestIdOf(executionId: string, attempt: number): string {
  return `can_${executionId.slice(4)}_${attempt}`;
}

export function requestIdOfExecution(executionId: string): string {
  return `req_${executionId.slice(4, 30)}`;
}

/** @returns undefined when the text is not a valid executionId or orderRef. */
export function executionIdFrom(text: string): string | undefined {
  const match = executionPattern.exec(text);
  return match === null ? undefined : `exe_${match[1]}_${match[2]}`;
}

/** @returns undefined when the text is not a valid cancelRequestId. */
export function executionIdFromCancel(text: string): string | undefined {
  const match = cancelPattern.exec(text);
  return match === null ? undefined : `exe_${match[1]}_${match[2]}`;
}

/** Random bytes of the system's CSPRNG as base64url; 32 bytes are 256 bits in 43 characters. */
export function randomSecret(bytes = 32): string {
  return randomBytes(bytes).toString('base64url');
}

export function randomHex(bytes: number): string {
  return randomBytes(bytes).toString('hex');
}

/** A number in [0, 1) for jitter. Not cryptographically secure. */
export const random: () => number = Math.random;
