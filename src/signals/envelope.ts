/**
 * Validates signal envelopes. A compiled schema accepts valid ones fast; for an invalid one, a table of rules
 * lists the violations, in the order of the specification's table.
 */
import Type, { type Static } from 'typebox';
import type { FieldError } from '../errors.js';
import { compileSchema } from '../lib/schema.js';
import { unixMsMax, type Limits } from '../limits.js';

export type Envelope = Static<ReturnType<typeof envelopeSchema>>;

const nameLengthMax = 64;

export function envelopeSchema(limits: Limits) {
  return Type.Object({
    v: Type.Literal(1),
    signalId: Type.String({ minLength: 1, maxLength: limits.signalIdLengthMax }),
    ts: Type.Integer({ minimum: 0, maximum: unixMsMax }),
    ttlMs: Type.Integer({ minimum: 1, maximum: limits.ttlMsMax }),
    platform: Type.String({ minLength: 1 }),
    type: Type.String({ minLength: 1, maxLength: nameLengthMax }),
    cmd: Type.String({ minLength: 1, maxLength: nameLengthMax }),
    payload: Type.Object({}),
    instanceId: Type.Optional(Type.String({ minLength: 1, maxLength: limits.instanceIdLengthMax })),
  });
}

let splitPlatform = '';
let splitTokens: readonly string[] = [''];

/**
 * Splits `terminal_a, terminal_b`: trimmed, without duplicates, in the order given. Caches the last result,
 * because each signal needs it twice and bots repeat the same text.
 */
export function platformTokens(platform: string): readonly string[] {
  if (platform !== splitPlatform) {
    splitTokens = [...new Set(platform.split(',').map((token) => token.trim()))];
    splitPlatform = platform;
  }
  return splitTokens;
}

export interface EnvelopeReader {
  /** `now`: wall time in Unix ms. @returns the envelope, or every violated rule in table order. */
  read(body: unknown, now: number): Envelope | FieldError[];
}

export function createEnvelopeReader(
  limits: Limits,
  knownPlatforms: ReadonlySet<string>,
): EnvelopeReader {
  const isEnvelope = compileSchema(envelopeSchema(limits));
  const rules = envelopeRules(limits, knownPlatforms);
  const contextRules = rules.filter((rule) => rule.needsContext);

  return {
    read(body, now) {
      if (isEnvelope(body) && contextRules.every((rule) => !rule.isViolated(body, now)))
        return body;
      if (typeof body !== 'object' || body === null || Array.isArray(body)) {
        return [{ field: '$', code: 'object_required' }];
      }
      return rules
        .filter((rule) => rule.isViolated(body, now))
        .map(({ field, code }) => ({ field, code }));
    },
  };
}

interface Rule extends FieldError {
  /** Depends on the clock or the configuration, so the schema cannot express it. */
  readonly needsContext?: true;
  readonly isViolated: (body: Partial<Record<keyof Envelope, unknown>>, now: number) => boolean;
}

// prettier-ignore
function envelopeRules(limits: Limits, knownPlatforms: ReadonlySet<string>): readonly Rule[] {
  const isTs = (value: unknown): value is number => isIntegerIn(value, 0, unixMsMax);
  const isTtl = (value: unknown): value is number => isIntegerIn(value, 1, limits.ttlMsMax);
  return [
    { field: 'v', code: 'unsupported_version', isViolated: ({ v }) => v !== 1 },
    { field: 'signalId', code: 'invalid_length', isViolated: ({ signalId }) => !isText(signalId, limits.signalIdLengthMax) },
    { field: 'type', code: 'invalid_length', isViolated: ({ type }) => !isText(type, nameLengthMax) },
    { field: 'cmd', code: 'invalid_length', isViolated: ({ cmd }) => !isText(cmd, nameLengthMax) },
    { field: 'ts', code: 'invalid_unix_milliseconds', isViolated: ({ ts }) => !isTs(ts) },
    { field: 'ts', code: 'signal_from_future', needsContext: true, isViolated: ({ ts }, now) => isTs(ts) && ts > now + limits.futureSkewMsMax },
    { field: 'ttlMs', code: 'invalid_ttl', isViolated: ({ ttlMs }) => !isTtl(ttlMs) },
    { field: 'ttlMs', code: 'signal_expired', needsContext: true, isViolated: ({ ts, ttlMs }, now) => isTs(ts) && isTtl(ttlMs) && ts + ttlMs < now },
    { field: 'ttlMs', code: 'timestamp_overflow', needsContext: true, isViolated: ({ ts, ttlMs }) => isTs(ts) && isTtl(ttlMs) && ts + ttlMs > unixMsMax },
    { field: 'platform', code: 'required', isViolated: ({ platform }) => typeof platform !== 'string' || platform === '' },
    { field: 'platform', code: 'unsupported_platform', needsContext: true, isViolated: ({ platform }) => typeof platform === 'string' && platform !== '' && !platformTokens(platform).every((token) => knownPlatforms.has(token)) },
    { field: 'payload', code: 'object_required', isViolated: ({ payload }) => typeof payload !== 'object' || payload === null || Array.isArray(payload) },
    { field: 'instanceId', code: 'invalid_length', isViolated: ({ instanceId }) => instanceId !== undefined && !isText(instanceId, limits.instanceIdLengthMax) },
  ];
}

/** Lengths count UTF-16 code units, as JavaScript's `length` does. */
function isText(value: unknown, lengthMax: number): boolean {
  return typeof value === 'string' && value.length >= 1 && value.length <= lengthMax;
}

function isIntegerIn(value: unknown, min: number, max: number): boolean {
  return Number.isInteger(value) && (value as number) >= min && (value as number) <= max;
}
