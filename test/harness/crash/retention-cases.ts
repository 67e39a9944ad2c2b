/** What becomes of a signal of long ago, by its age and its end: one row for each rule of retention. */
import type { Reader, Writer } from '../../../src/store/store.js';
import { acceptedSignal, putSignal, type AcceptedSignal } from '../../support/accepted-signal.js';

const dayMs = 86_400_000;

interface Fate {
  readonly acceptedDaysAgo: number;
  /** Undefined while it rests at the broker. */
  readonly endedDaysAgo: number | undefined;
  /** Of its Idempotency-Key. */
  readonly keyDaysLeft: number;
  readonly keepsRequest: boolean;
  readonly keepsKey: boolean;
}

/** The ends lie as near to the thirty days as the longest run allows. */
export const fates = {
  over: {
    acceptedDaysAgo: 60,
    endedDaysAgo: 30.01,
    keyDaysLeft: 9,
    keepsRequest: false,
    keepsKey: false,
  },
  kept: {
    acceptedDaysAgo: 29,
    endedDaysAgo: 28,
    keyDaysLeft: 9,
    keepsRequest: true,
    keepsKey: true,
  },
  endedLate: {
    acceptedDaysAgo: 60,
    endedDaysAgo: 29.9,
    keyDaysLeft: 9,
    keepsRequest: true,
    keepsKey: true,
  },
  resting: {
    acceptedDaysAgo: 60,
    endedDaysAgo: undefined,
    keyDaysLeft: 9,
    keepsRequest: true,
    keepsKey: true,
  },
  spent: {
    acceptedDaysAgo: 2,
    endedDaysAgo: 1,
    keyDaysLeft: -1,
    keepsRequest: true,
    keepsKey: false,
  },
  /** Of a user that is deleted. */
  left: {
    acceptedDaysAgo: 1,
    endedDaysAgo: 1,
    keyDaysLeft: 9,
    keepsRequest: false,
    keepsKey: false,
  },
} as const satisfies Record<string, Fate>;

export interface Laid {
  readonly fate: keyof typeof fates;
  readonly userId: string;
  readonly requestId: string;
  readonly signalId: string;
  readonly executionId: string;
  readonly idempotencyKey: string;
}

const names = Object.keys(fates);
/** More than a run lays down of one fate. */
const perDay = Math.floor(dayMs / names.length);

/** `index` counts what the run lays down of this fate. */
export function acceptedAtOf(name: keyof typeof fates, index: number): number {
  const day = Math.floor(Date.now() / dayMs) - fates[name].acceptedDaysAgo;
  // No two requests of a user may be of one millisecond: their ids would be the same.
  return day * dayMs + (index % perDay) * names.length + names.indexOf(name);
}

export function layDown(
  writer: Writer,
  userId: string,
  name: keyof typeof fates,
  acceptedAt: number,
): Laid {
  const fate: Fate = fates[name];
  const now = Date.now();
  const signal = acceptedSignal({
    userId,
    acceptedAt,
    idempotencyExpiresAt: now + fate.keyDaysLeft * dayMs,
  });
  putSignal(
    writer,
    fate.endedDaysAgo === undefined ? atTheBroker(signal) : signal,
    fate.endedDaysAgo === undefined ? undefined : now - fate.endedDaysAgo * dayMs,
  );
  const { requestId, signalId, idempotencyKey } = signal.request;
  const { executionId } = signal.execution;
  return { fate: name, userId, requestId, signalId, executionId, idempotencyKey };
}

function atTheBroker(signal: AcceptedSignal): AcceptedSignal {
  const execution = {
    ...signal.execution,
    status: 'working',
    delivery: 'confirmed',
    dispatchedAt: signal.request.acceptedAt,
    confirmedAt: signal.request.acceptedAt,
  } as const;
  return { ...signal, execution };
}

type Presence = Readonly<Record<'request' | 'signalId' | 'execution' | 'key', boolean>>;
function presenceOf(reader: Reader, laid: Laid): Presence {
  const { userId, requestId, signalId, executionId, idempotencyKey } = laid;
  return {
    request: reader.get('requests', [userId, requestId]) !== undefined,
    signalId: reader.get('signalIds', [userId, signalId]) === requestId,
    execution:
      (reader.get('finalExecutions', [userId, executionId]) ??
        reader.get('openExecutions', [userId, executionId])) !== undefined,
    key: reader.get('idempotency', [userId, idempotencyKey]) !== undefined,
  };
}

export function isUntouched(reader: Reader, laid: Laid): boolean {
  return Object.values(presenceOf(reader, laid)).every(Boolean);
}

export function isAsFated(reader: Reader, laid: Laid): boolean {
  const { keepsRequest, keepsKey } = fates[laid.fate];
  const { request, signalId, execution, key } = presenceOf(reader, laid);
  return [request, signalId, execution].every((is) => is === keepsRequest) && key === keepsKey;
}

/** A request goes with all that belongs to it; only what a deleted user left goes row by row. */
export function isTorn(reader: Reader, laid: Laid): boolean {
  const { keepsRequest, keepsKey } = fates[laid.fate];
  const { request, signalId, execution, key } = presenceOf(reader, laid);
  if (laid.fate === 'left') return false;
  const isWhole = request === signalId && request === execution;
  return !isWhole || (keepsRequest && !request) || (keepsKey && !key) || (!request && key);
}
