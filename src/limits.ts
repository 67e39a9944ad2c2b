/**
 * Every limit of the public interface: the specification's value, its unit, and the bounds within
 * which an operator may change it. Source: the Limits table of the public API specification.
 */
import { dayMs, hourMs, minuteMs } from './lib/durations.js';

interface Limit {
  readonly value: number;
  readonly unit: string;
  readonly min: number;
  readonly max: number;
  /** What the limit protects, and what breaks without it. */
  readonly why: string;
}

/** Highest Unix time in milliseconds that a four-digit year can show: 9999-12-31T23:59:59.999Z. */
export const unixMsMax = 253_402_300_799_999;

// prettier-ignore
export const limits = {
  bodyBytesMax: { value: 65_536, unit: 'bytes', min: 1_024, max: 98_304, why: 'memory one request may hold; a payload must fit into a plugin frame of 128 KiB' },
  jsonDepthMax: { value: 16, unit: 'levels', min: 2, max: 128, why: 'stack of the parser and of every reader after it' },
  idempotencyKeyLengthMax: { value: 128, unit: 'characters', min: 16, max: 255, why: 'size of a store key' },
  signalIdLengthMax: { value: 128, unit: 'characters', min: 16, max: 255, why: 'size of a store key' },
  instanceIdLengthMax: { value: 128, unit: 'characters', min: 1, max: 255, why: 'size of a store key' },
  ttlMsMax: { value: 300_000, unit: 'milliseconds', min: 1, max: dayMs, why: 'how old a signal may be when a terminal gets it' },
  futureSkewMsMax: { value: 60_000, unit: 'milliseconds', min: 0, max: hourMs, why: 'a bot whose clock runs ahead would outlive its TTL' },
  activeKeysPerUserMax: { value: 5, unit: 'keys', min: 1, max: 1_000, why: 'a user multiplies the per-key rate by the number of keys' },
  keyNameLengthMax: { value: 80, unit: 'characters', min: 1, max: 255, why: 'shown in lists' },
  keyLifetimeDaysMax: { value: 365, unit: 'days', min: 1, max: 3_650, why: 'a forgotten key must end by itself' },
  userTokenLifetimeMs: { value: dayMs, unit: 'milliseconds', min: 1_000, max: 30 * dayMs, why: 'how long a stolen login works' },
  keyRequestsPerMinute: { value: 1_200, unit: 'requests per minute', min: 1, max: 1_000_000, why: 'one bot must not starve the others' },
  unauthenticatedAttemptsPerMinute: { value: 60, unit: 'attempts per minute', min: 1, max: 1_000_000, why: 'guessing of keys' },
  loginAttemptsPerMinute: { value: 10, unit: 'attempts per minute', min: 1, max: 1_000_000, why: 'guessing of passwords' },
  streamsPerUserMax: { value: 3, unit: 'streams', min: 1, max: 10_000, why: 'each stream holds memory for its pending events' },
  streamInstanceIdLengthMax: { value: 128, unit: 'characters', min: 1, max: 255, why: 'size of a query' },
  streamAccountNameLengthMax: { value: 128, unit: 'characters', min: 1, max: 255, why: 'size of a query' },
  lastEventIdLengthMax: { value: 80, unit: 'characters', min: 40, max: 255, why: 'size of a header that is parsed' },
  heartbeatWindowMs: { value: 120_000, unit: 'milliseconds', min: 100, max: dayMs, why: 'how long a silent terminal still gets signals' },
  executionConfirmTimeoutMs: { value: 60_000, unit: 'milliseconds', min: 50, max: dayMs, why: 'when an unconfirmed execution is called unknown' },
  cancelConfirmTimeoutMs: { value: 30_000, unit: 'milliseconds', min: 50, max: dayMs, why: 'when an unconfirmed cancel is called unknown' },
  idempotencyRetentionMs: { value: dayMs, unit: 'milliseconds', min: 100, max: 30 * dayMs, why: 'how long a retry is recognised' },
  staleProcessingMs: { value: 5 * minuteMs, unit: 'milliseconds', min: 50, max: dayMs, why: 'how long an acceptance may stay in doubt before it is called so' },
  replayEventsMax: { value: 1_000, unit: 'events per user', min: 1, max: 1_000_000, why: 'memory of the event ring' },
  replayAgeMs: { value: 10 * minuteMs, unit: 'milliseconds', min: 50, max: dayMs, why: 'age of what a cursor can reach' },
  subscriberPendingEventsMax: { value: 256, unit: 'events per stream', min: 1, max: 100_000, why: 'memory a reader that does not read may hold' },
  rawTextLengthMax: { value: 8_192, unit: 'characters', min: 1, max: 65_536, why: 'memory of the event ring' },
  outgoingQueueEventsMax: { value: 2_000, unit: 'events', min: 1, max: 1_000_000, why: 'memory of a plugin that is cut off' },
  outgoingQueueAgeMs: { value: 10 * minuteMs, unit: 'milliseconds', min: 50, max: dayMs, why: 'age of what a plugin still sends after a cut' },
  executionRetentionDays: { value: 30, unit: 'days', min: 1, max: 3_650, why: 'disk; and how long a signalId stays taken' },
} as const satisfies Record<string, Limit>;

export type LimitName = keyof typeof limits;
/** The limits in force, each in the unit that its table row names. */
export type Limits = Readonly<Record<LimitName, number>>;

export const limitNames = Object.keys(limits) as LimitName[];

/** What must hold between limits; the start is refused otherwise. */
export const limitRelations: readonly {
  readonly names: readonly [LimitName, LimitName];
  readonly holds: (limits: Limits) => boolean;
  readonly message: string;
}[] = [
  {
    names: ['idempotencyRetentionMs', 'executionRetentionDays'],
    holds: (l) => l.idempotencyRetentionMs <= l.executionRetentionDays * dayMs,
    message: 'an idempotency record must not outlive the request that it answers for',
  },
  {
    names: ['executionConfirmTimeoutMs', 'executionRetentionDays'],
    holds: (l) => l.executionConfirmTimeoutMs <= l.executionRetentionDays * dayMs,
    message: 'an execution must be settled before it may be removed',
  },
];
