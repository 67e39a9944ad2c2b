/**
 * Validates signal envelopes. A compiled schema accepts valid ones fast; for an invalid one, a table of rules
 * lists the violations, in the order of the specification's table.
 */
import Type, { type Static } from 'typebox';
import type { FieldError } from '../errors.js';
import { isObject } from '../lib/is-object.js';
import { Outline } from '../lib/json-outline.js';
import { compileSchema } from '../lib/schema.js';
import { unknownFields } from '../lib/unknown-fields.js';
import { unixMsMax, type Limits } from '../limits.js';
import { sourceNameLengthMax } from '../model/source-name.js';

export type Envelope = Static<ReturnType<typeof envelopeSchema>>;

/** Whether the signal submits an order. */
export function isOrder({ type, cmd }: Envelope): boolean {
  return type === 'order' && cmd === 'submit';
}

/** What the gateway reads of an order's payload; the terminal gets the text. */
const orderTerms = ['side', 'executionType', 'instrument', 'quantity', 'limitPrice'] as const;
export type OrderTerms = Readonly<Partial<Record<(typeof orderTerms)[number], unknown>>>;

export const nameLengthMax = 64;

function text(maxLength: number, description: string, example: string) {
  return Type.String({ minLength: 1, maxLength, description, examples: [example] });
}

export function envelopeSchema(limits: Limits) {
  const fields = {
    v: Type.Unsafe<1>({ type: 'integer', const: 1, description: 'Version of the envelope.' }),
    signalId: text(limits.signalIdLengthMax, 'Unique per user.', 'trend-7-0001'),
    ts: Type.Integer({
      minimum: 0,
      maximum: unixMsMax,
      description: 'When the bot made the signal, in Unix milliseconds.',
      examples: [1767225600000],
    }),
    ttlMs: Type.Integer({
      minimum: 1,
      maximum: limits.ttlMsMax,
      description: 'Milliseconds after `ts` during which the signal may be sent to a terminal.',
      examples: [30000],
    }),
    platform: Type.String({
      minLength: 1,
      description: 'One or more platform tokens, separated by commas.',
      examples: ['terminal_a'],
    }),
    type: text(nameLengthMax, 'The object of the command.', 'order'),
    cmd: text(nameLengthMax, 'What to do with the object.', 'submit'),
    payload: Type.Object({}),
    instanceId: Type.Optional(
      text(
        limits.instanceIdLengthMax,
        'Send the signal only to terminals of this instance.',
        'desk-1',
      ),
    ),
    accountName: Type.Optional(
      text(sourceNameLengthMax, 'Send the signal only to this account.', 'U1234567'),
    ),
  };
  return Type.Object(fields, { additionalProperties: false });
}

let splitPlatform = '';
let splitTokens: readonly string[] = [''];

/**
 * Splits `terminal_a, terminal_b`: trimmed, without duplicates, in the order given. Caches the last result,
 * because each signal needs it twice and bots repeat the same text.
 */
export function platformTokens(platform: string): readonly string[] {
  if (platform !== splitPlatform) {
    splitTokens = [...new Set(tokensIn(platform))];
    splitPlatform = platform;
  }
  return splitTokens;
}

function* tokensIn(platform: string): Generator<string, void, void> {
  for (let begin = 0; begin <= platform.length;) {
    const comma = platform.indexOf(',', begin);
    const end = comma < 0 ? platform.length : comma;
    yield platform.slice(begin, end).trim();
    begin = end + 1;
  }
}

/** Stops at the first unknown token: a body may have tens of thousands. */
export function arePlatforms(platform: string, known: ReadonlySet<string>): boolean {
  for (const token of platform === splitPlatform ? splitTokens : tokensIn(platform)) {
    if (!known.has(token)) return false;
  }
  return true;
}

export interface EnvelopeReader {
  /** What `read` looks at, and the `OrderTerms` of the payload. */
  readonly outline: Outline;
  /**
   * `now`: wall time in Unix ms. @returns the envelope, or every violated rule in table order, and after them the
   * unknown fields in the body's order.
   */
  read(body: unknown, now: number): Envelope | FieldError[];
}

export function createEnvelopeReader(
  limits: Limits,
  knownPlatforms: ReadonlySet<string>,
): EnvelopeReader {
  const schema = envelopeSchema(limits);
  // Counting the fields finds unknown ones at less cost than a schema that looks at each name.
  const hasValidFields = compileSchema(Type.Object(schema.properties));
  const requiredCount = schema.required.length;
  const rules = envelopeRules(limits, knownPlatforms).map((rule) => ({
    ...rule,
    // One object for all bodies that violate the rule.
    violation: Object.freeze({ field: rule.field, code: rule.code }),
  }));
  const contextRules = rules.filter((rule) => rule.needsContext);

  return {
    outline: new Outline([...Object.keys(schema.properties), ...orderTerms], 2),

    read(body, now) {
      if (
        hasValidFields(body) &&
        Object.keys(body).length === requiredCount + optionalCount(body) &&
        contextRules.every((rule) => !rule.isViolated(body, now))
      ) {
        return body;
      }
      if (!isObject(body)) return [{ field: '$', code: 'object_required' }];
      const violations: FieldError[] = [];
      for (const { violation, isViolated } of rules) {
        if (isViolated(body, now)) violations.push(violation);
      }
      for (const unknown of unknownFields(body, schema)) violations.push(unknown);
      return violations;
    },
  };
}

/** @returns how many of the optional fields the envelope has. */
function optionalCount({ instanceId, accountName }: Envelope): number {
  return (instanceId === undefined ? 0 : 1) + (accountName === undefined ? 0 : 1);
}

interface Rule extends FieldError {
  /** Depends on the clock or the configuration, so the schema cannot express it. */
  readonly needsContext?: true;
  readonly isViolated: (body: Partial<Record<keyof Envelope, unknown>>, now: number) => boolean;
}

// oxfmt-ignore
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
    { field: 'platform', code: 'unsupported_platform', needsContext: true, isViolated: ({ platform }) => typeof platform === 'string' && platform !== '' && !arePlatforms(platform, knownPlatforms) },
    { field: 'payload', code: 'object_required', isViolated: ({ payload }) => !isObject(payload) },
    { field: 'instanceId', code: 'invalid_length', isViolated: ({ instanceId }) => instanceId !== undefined && !isText(instanceId, limits.instanceIdLengthMax) },
    { field: 'accountName', code: 'invalid_length', isViolated: ({ accountName }) => accountName !== undefined && !isText(accountName, sourceNameLengthMax) },
  ];
}

/** Lengths count UTF-16 code units, as JavaScript's `length` does. */
export function isText(value: unknown, lengthMax: number): boolean {
  return typeof value === 'string' && value.length >= 1 && value.length <= lengthMax;
}

function isIntegerIn(value: unknown, min: number, max: number): boolean {
  return Number.isInteger(value) && (value as number) >= min && (value as number) <= max;
}
