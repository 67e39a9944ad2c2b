/**
 * Says in a sentence for each violated rule of an envelope what to do about it, with the limits in force. What the
 * client sent is not repeated, except for times as numbers.
 */
import type { FieldError } from '../errors.js';
import { dayMs } from '../lib/durations.js';
import { isObject } from '../lib/is-object.js';
import { unixMsMax, type Limits } from '../limits.js';
import { sourceNameLengthMax } from '../model/source-name.js';
import { envelopeSchema, nameLengthMax } from './envelope.js';

/** @returns the sentences for the violations of a body that was judged at `now`, in their order, each once. */
export type ViolationAdvice = (
  violations: readonly FieldError[],
  body: unknown,
  now: number,
) => string;

type Sentence = string | ((body: Times, now: number) => string);
interface Times {
  readonly ts?: unknown;
  readonly ttlMs?: unknown;
}

/** Most platforms that a sentence names: an operator may have any number. */
const platformsNamedMax = 16;

export function createViolationAdvice(
  limits: Limits,
  knownPlatforms: ReadonlySet<string>,
): ViolationAdvice {
  const { unknown_field: unknown = '', ...sentences } = sentencesWith(limits, knownPlatforms);
  // Keyed by field, then by code: a joined key would make a new text for each look-up.
  const byField = new Map<string, Map<string, Sentence>>();
  for (const [rule, sentence] of Object.entries(sentences)) {
    const [field = '', code = ''] = rule.split(' ');
    byField.set(field, (byField.get(field) ?? new Map<string, Sentence>()).set(code, sentence));
  }
  return (violations, body, now) => {
    const times: Times = isObject(body) ? body : {};
    const tell = ({ field, code }: FieldError): string => {
      const sentence = (code === 'unknown_field' ? unknown : byField.get(field)?.get(code)) ?? '';
      return typeof sentence === 'string' ? sentence : sentence(times, now);
    };
    const [first, second] = violations;
    // Most bodies violate one rule.
    if (first !== undefined && second === undefined) return tell(first);
    return [...new Set(violations.map(tell))].join(' ');
  };
}

// oxfmt-ignore
function sentencesWith(limits: Limits, knownPlatforms: ReadonlySet<string>): Readonly<Record<string, Sentence>> {
  const textOf = (field: string, lengthMax: number): string => `${field} must be a text of 1 to ${lengthMax} characters.`;
  const platforms = listOf([...knownPlatforms], platformsNamedMax);
  const fields = Object.keys(envelopeSchema(limits).properties);
  return {
    '$ object_required': 'The body must be one JSON object.',
    'v unsupported_version': 'v must be the integer 1.',
    'signalId invalid_length': textOf('signalId', limits.signalIdLengthMax),
    'type invalid_length': textOf('type', nameLengthMax),
    'cmd invalid_length': textOf('cmd', nameLengthMax),
    'ts invalid_unix_milliseconds': ({ ts }, now) => `ts must be an integer, the Unix time in milliseconds, from 0 to ${unixMsMax}.${unitHint(ts, now)}`,
    'ts signal_from_future': ({ ts }, now) => `ts is ${Number(ts) - now} ms ahead of the gateway’s clock, and may be at most ${limits.futureSkewMsMax} ms ahead. Check your clock, or send the signal later.${unitHint(ts, now)}`,
    'ttlMs invalid_ttl': `ttlMs must be an integer from 1 to ${limits.ttlMsMax}.`,
    'ttlMs signal_expired': ({ ts, ttlMs }, now) => `The signal expired at ts + ttlMs, ${now - Number(ts) - Number(ttlMs)} ms ago by the gateway’s clock. Check your clock, and whether you still want the signal.${unitHint(ts, now)}`,
    'ttlMs timestamp_overflow': `ts + ttlMs must be at most ${unixMsMax}.`,
    'platform required': `platform must name one or more platforms, separated by commas. The platforms are: ${platforms}.`,
    'platform unsupported_platform': `platform has an unknown name. Separate several names by commas. The platforms are: ${platforms}.`,
    'payload object_required': 'payload must be a JSON object; it may be empty.',
    'instanceId invalid_length': `${textOf('instanceId', limits.instanceIdLengthMax)} Leave it out to address every instance.`,
    'accountName invalid_length': `${textOf('accountName', sourceNameLengthMax)} Leave it out to address every account.`,
    unknown_field: `The body has an unknown field, which may be misspelt. The fields are: ${fields.join(', ')}.`,
  };
}

/** Other units in which bots send the time, and what makes them milliseconds. */
const otherUnits: readonly (readonly [unit: string, factor: number])[] = [
  ['seconds', 1_000],
  ['microseconds', 1 / 1_000],
  ['nanoseconds', 1 / 1_000_000],
];
/** A time that is this near to now when read in another unit is taken to be in that unit. */
const nearMs = 400 * dayMs;

function unitHint(ts: unknown, now: number): string {
  if (typeof ts === 'string') return ' ts is a text: send it as a number.';
  if (typeof ts !== 'number') return '';
  const other = otherUnits.find(([, factor]) => Math.abs(ts * factor - now) < nearMs);
  return other === undefined ? '' : ` Is ts in milliseconds? It looks like ${other[0]}.`;
}

function listOf(names: readonly string[], max: number): string {
  return names.length > max ? `${names.slice(0, max).join(', ')}, …` : names.join(', ');
}
