/**
 * Defines every limit of the public interface: default, unit, and the bounds within which an operator may
 * change it. Source: the Limits table of the public API specification and section 9 of the contract.
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

const mebibyte = 1_048_576;

/** Highest Unix time in milliseconds that a four-digit year can show: 9999-12-31T23:59:59.999Z. */
export const unixMsMax = 253_402_300_799_999;

// oxfmt-ignore
export const limits = {
  bodyBytesMax: { value: 65_536, unit: 'bytes', min: 1_024, max: 98_304, why: 'memory per request; a payload must fit into a plugin frame of 128 KiB' },
  jsonDepthMax: { value: 16, unit: 'levels', min: 2, max: 128, why: 'stack depth of the parser and of every later reader' },
  idempotencyKeyLengthMax: { value: 128, unit: 'characters', min: 16, max: 255, why: 'size of a store key' },
  signalIdLengthMax: { value: 128, unit: 'characters', min: 16, max: 255, why: 'size of a store key' },
  instanceIdLengthMax: { value: 128, unit: 'characters', min: 1, max: 255, why: 'size of a store key' },
  ttlMsMax: { value: 300_000, unit: 'milliseconds', min: 1, max: dayMs, why: 'how old a signal may be when a terminal receives it' },
  futureSkewMsMax: { value: 60_000, unit: 'milliseconds', min: 0, max: hourMs, why: 'a bot whose clock runs ahead would extend the TTL of its signals' },
  activeKeysPerUserMax: { value: 5, unit: 'keys', min: 1, max: 1_000, why: 'the rate limit is per key, so a user multiplies it by the number of keys' },
  keyNameLengthMax: { value: 80, unit: 'characters', min: 1, max: 255, why: 'lists show the name' },
  keyLifetimeDaysMax: { value: 365, unit: 'days', min: 1, max: 3_650, why: 'a forgotten key must expire' },
  userTokenLifetimeMs: { value: dayMs, unit: 'milliseconds', min: 1_000, max: 30 * dayMs, why: 'how long a stolen user token is valid' },
  keyRequestsPerMinute: { value: 1_200, unit: 'requests per minute', min: 1, max: 1_000_000, why: 'one bot must not starve the others' },
  unauthenticatedAttemptsPerMinute: { value: 60, unit: 'attempts per minute', min: 1, max: 1_000_000, why: 'brute force of API keys' },
  loginAttemptsPerMinute: { value: 10, unit: 'attempts per minute', min: 1, max: 1_000_000, why: 'brute force of passwords' },
  streamsPerUserMax: { value: 3, unit: 'streams', min: 1, max: 10_000, why: 'each stream holds memory for its pending events' },
  streamInstanceIdLengthMax: { value: 128, unit: 'characters', min: 1, max: 255, why: 'size of a query parameter' },
  streamAccountNameLengthMax: { value: 128, unit: 'characters', min: 1, max: 255, why: 'size of a query parameter' },
  lastEventIdLengthMax: { value: 80, unit: 'characters', min: 40, max: 255, why: 'size of a header that is parsed' },
  heartbeatWindowMs: { value: 120_000, unit: 'milliseconds', min: 100, max: dayMs, why: 'how long a silent terminal stays a target of signals' },
  executionConfirmTimeoutMs: { value: 60_000, unit: 'milliseconds', min: 50, max: dayMs, why: 'when an unconfirmed execution becomes unknown' },
  cancelConfirmTimeoutMs: { value: 30_000, unit: 'milliseconds', min: 50, max: dayMs, why: 'when an unconfirmed cancel becomes unknown' },
  idempotencyRetentionMs: { value: dayMs, unit: 'milliseconds', min: 100, max: 30 * dayMs, why: 'how long a retry is deduplicated' },
  staleProcessingMs: { value: 5 * minuteMs, unit: 'milliseconds', min: 50, max: dayMs, why: 'how long an acceptance may be in progress before its outcome is reported as unknown' },
  replayEventsMax: { value: 1_000, unit: 'events per user', min: 1, max: 1_000_000, why: 'memory of the event ring' },
  replayAgeMs: { value: 10 * minuteMs, unit: 'milliseconds', min: 50, max: dayMs, why: 'age of the oldest event that a cursor can resume from' },
  subscriberPendingEventsMax: { value: 256, unit: 'events per stream', min: 1, max: 100_000, why: 'memory of a slow reader' },
  rawTextLengthMax: { value: 8_192, unit: 'characters', min: 1, max: 65_536, why: 'memory of the event ring' },
  outgoingQueueEventsMax: { value: 2_000, unit: 'events', min: 1, max: 1_000_000, why: 'memory of a disconnected plugin' },
  outgoingQueueAgeMs: { value: 10 * minuteMs, unit: 'milliseconds', min: 50, max: dayMs, why: 'age of the oldest event that a plugin sends after a reconnect' },
  executionRetentionDays: { value: 30, unit: 'days', min: 1, max: 3_650, why: 'disk space; and how long a signalId stays reserved' },
  pluginFramesPerSecond: { value: 1_000, unit: 'frames per second and user', min: 1, max: 1_000_000, why: 'every frame takes time of the only event loop; a flood from one user would delay the signals of all' },
  pluginBytesPerSecond: { value: 2 * mebibyte, unit: 'bytes per second and user', min: 1_024, max: 1_024 * mebibyte, why: 'parsing takes time by the byte; a flood from one user would delay the signals of all' },
  pluginConnectionsPerUser: { value: 64, unit: 'connections per user', min: 1, max: 100_000, why: 'each connection holds memory and a file descriptor' },
  sourcesPerUser: { value: 64, unit: 'active sources per user', min: 1, max: 100_000, why: 'a signal becomes one execution for each matching source' },
  executionsPerSignal: { value: 64, unit: 'executions per signal', min: 1, max: 10_000, why: 'size of one transaction and of the status answer' },
  openExecutionsPerUser: { value: 200_000, unit: 'open executions, their listed fills and each 512 characters of their terminals’ texts, per user', min: 1, max: 100_000_000, why: 'each stays in memory until its execution is final; beyond it, new executions are denied, new fills counted but not listed, and texts cut' },
  userRequestsPerMinute: { value: 120, unit: 'requests per minute and user', min: 1, max: 1_000_000, why: 'the key endpoints write to the store without an API key’s rate limit' },
  replayBytesPerUser: { value: 8 * mebibyte, unit: 'bytes per user', min: 1_024, max: 1_024 * mebibyte, why: 'memory of the event ring of one user, as encoded' },
  replayBytesMax: { value: 256 * mebibyte, unit: 'bytes', min: 1_024, max: 65_536 * mebibyte, why: 'memory of the event rings of all users, as encoded' },
  unsentBytesPerConnection: { value: mebibyte, unit: 'bytes per connection', min: 1_024, max: 1_024 * mebibyte, why: 'memory of answers that a client does not read' },
  cancelsPerOrder: { value: 100, unit: 'cancels per order', min: 1, max: 10_000, why: 'each cancel is an idempotency record and a frame; cancel-all may exceed it' },
  cancelAllsPerMinute: { value: 120, unit: 'requests per minute and user', min: 1, max: 1_000_000, why: 'each cancel-all examines every open order of the user and stores its answer for a day; a user has one at a time' },
  fillsPerExecution: { value: 10_000, unit: 'fills per execution', min: 1, max: 1_000_000, why: 'stored fills of one execution, and listed fills of all executions in one answer; further fills are counted but not listed' },
} as const satisfies Record<string, Limit>;

export type LimitName = keyof typeof limits;
/** The limits in force, each in the unit that its table row names. */
export type Limits = Readonly<Record<LimitName, number>>;

export const limitNames = Object.keys(limits) as LimitName[];

/** Constraints between limits. The gateway refuses to start with settings that violate one. */
export const limitRelations: readonly {
  readonly names: readonly [LimitName, LimitName];
  readonly holds: (limits: Limits) => boolean;
  readonly message: string;
}[] = [
  {
    names: ['idempotencyRetentionMs', 'executionRetentionDays'],
    holds: (l) => l.idempotencyRetentionMs <= l.executionRetentionDays * dayMs,
    message: 'an idempotency record must not outlive the request that it refers to',
  },
];
