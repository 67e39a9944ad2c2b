/** One case for each rule of retention: how old a signal is, and which of its rows the sweep keeps. */
import { dayMs } from '../../../src/lib/durations.js';
import type { Reader, Writer } from '../../../src/store/store.js';
import { acceptedSignal, putSignal, type AcceptedSignal } from '../../support/accepted-signal.js';

interface RetentionCase {
  readonly acceptedDaysAgo: number;
  /** Undefined for an order that is still working. */
  readonly endedDaysAgo: number | undefined;
  /** Days until its Idempotency-Key expires. */
  readonly keyDaysLeft: number;
  readonly keepsRequest: boolean;
  readonly keepsKey: boolean;
}

/** Ends are as close to the limit of thirty days as the longest run allows. */
export const retentionCases = {
  finished: {
    acceptedDaysAgo: 60,
    endedDaysAgo: 30.01,
    keyDaysLeft: 9,
    keepsRequest: false,
    keepsKey: false,
  },
  recent: {
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
  working: {
    acceptedDaysAgo: 60,
    endedDaysAgo: undefined,
    keyDaysLeft: 9,
    keepsRequest: true,
    keepsKey: true,
  },
  keyExpired: {
    acceptedDaysAgo: 2,
    endedDaysAgo: 1,
    keyDaysLeft: -1,
    keepsRequest: true,
    keepsKey: false,
  },
  /** Its user is deleted. */
  userDeleted: {
    acceptedDaysAgo: 1,
    endedDaysAgo: 1,
    keyDaysLeft: 9,
    keepsRequest: false,
    keepsKey: false,
  },
} as const satisfies Record<string, RetentionCase>;

export interface SeededSignal {
  readonly caseName: keyof typeof retentionCases;
  readonly userId: string;
  readonly requestId: string;
  readonly signalId: string;
  readonly executionId: string;
  readonly idempotencyKey: string;
}

const names = Object.keys(retentionCases);
/** More than a run seeds of one case. */
const perDay = Math.floor(dayMs / names.length);

/** `index` counts the signals that the run has seeded. */
export function acceptedAtOf(name: keyof typeof retentionCases, index: number): number {
  const day = Math.floor(Date.now() / dayMs) - retentionCases[name].acceptedDaysAgo;
  // No two requests of a user may be of one millisecond: their ids would be the same.
  return day * dayMs + (index % perDay) * names.length + names.indexOf(name);
}

export function seedSignal(
  writer: Writer,
  userId: string,
  name: keyof typeof retentionCases,
  acceptedAt: number,
): SeededSignal {
  const retention: RetentionCase = retentionCases[name];
  const now = Date.now();
  const signal = acceptedSignal({
    userId,
    acceptedAt,
    idempotencyExpiresAt: now + retention.keyDaysLeft * dayMs,
  });
  putSignal(
    writer,
    retention.endedDaysAgo === undefined ? atTheBroker(signal) : signal,
    retention.endedDaysAgo === undefined ? undefined : now - retention.endedDaysAgo * dayMs,
  );
  const { requestId, signalId, idempotencyKey } = signal.request;
  const { executionId } = signal.execution;
  return { caseName: name, userId, requestId, signalId, executionId, idempotencyKey };
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
function presenceOf(reader: Reader, seeded: SeededSignal): Presence {
  const { userId, requestId, signalId, executionId, idempotencyKey } = seeded;
  return {
    request: reader.get('requests', [userId, requestId]) !== undefined,
    signalId: reader.get('signalIds', [userId, signalId]) === requestId,
    execution:
      (reader.get('finalExecutions', [userId, executionId]) ??
        reader.get('openExecutions', [userId, executionId])) !== undefined,
    key: reader.get('idempotency', [userId, idempotencyKey]) !== undefined,
  };
}

export function isUntouched(reader: Reader, seeded: SeededSignal): boolean {
  return Object.values(presenceOf(reader, seeded)).every(Boolean);
}

export function isAsExpected(reader: Reader, seeded: SeededSignal): boolean {
  const { keepsRequest, keepsKey } = retentionCases[seeded.caseName];
  const { request, signalId, execution, key } = presenceOf(reader, seeded);
  return [request, signalId, execution].every((is) => is === keepsRequest) && key === keepsKey;
}

/** The sweep removes a request and its rows together; a deleted user's rows it removes one by one. */
export function isPartial(reader: Reader, seeded: SeededSignal): boolean {
  const { keepsRequest, keepsKey } = retentionCases[seeded.caseName];
  const { request, signalId, execution, key } = presenceOf(reader, seeded);
  if (seeded.caseName === 'userDeleted') return false;
  const isWhole = request === signalId && request === execution;
  return !isWhole || (keepsRequest && !request) || (keepsKey && !key) || (!request && key);
}
