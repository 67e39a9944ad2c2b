/**
 * What PROTOCOL.md makes of a text: a frame, or the error codes that may refuse it. Validates with its
 * own walk over the schemas, not with the gateway's validator.
 */
import { eventDataFields } from '../../../../src/events/event-data.js';
import { pluginFrames } from '../../../../src/plugins/protocol.js';
import type { Schema } from './schema-values.js';

export type SaidFrame = Readonly<Record<string, any>> & { readonly type: string };
export type Judgement =
  | { readonly frame: SaidFrame; readonly codes?: undefined }
  | { readonly frame?: undefined; readonly codes: readonly string[] };

const depthMax = 64;

export function judge(text: string): Judgement {
  const isTooDeep = depthOf(text) > depthMax;
  let value: unknown;
  try {
    // A byte order mark is not part of the text.
    value = JSON.parse(text.replace(/^\ufeff/, ''));
  } catch {
    return { codes: isTooDeep ? ['not_json', 'invalid_frame'] : ['not_json'] };
  }
  if (isTooDeep) return { codes: ['invalid_frame'] };
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return { codes: ['not_json'] };
  }
  const frame = value as SaidFrame;
  if (!Object.hasOwn(frame, 'type')) return { codes: ['unknown_type'] };
  if (typeof frame.type !== 'string') return { codes: ['unknown_type', 'invalid_frame'] };
  if (!Object.hasOwn(pluginFrames, frame.type)) return { codes: ['unknown_type'] };
  const schema = pluginFrames[frame.type as keyof typeof pluginFrames] as Schema;
  if (!fits(schema, frame)) return { codes: ['invalid_frame'] };
  if (frame.type === 'event') {
    const fields = eventDataFields[frame['event'] as keyof typeof eventDataFields];
    if (
      !fits({ type: 'object', properties: fields as Record<string, Schema> }, frame['data'] ?? {})
    ) {
      return { codes: ['invalid_frame'] };
    }
  }
  const isNameless =
    frame.type === 'ack' &&
    !Object.hasOwn(frame, 'executionId') &&
    !Object.hasOwn(frame, 'cancelRequestId');
  return isNameless ? { codes: ['invalid_frame'] } : { frame };
}

/** Deepest nesting of the text, whether it is JSON or not. */
function depthOf(text: string): number {
  let level = 0;
  let deepest = 0;
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"?|[{}[\]]/gs)) {
    if (token === '{' || token === '[') deepest = Math.max(deepest, ++level);
    else if (token === '}' || token === ']') level--;
  }
  return deepest;
}

export function fits(schema: Schema, value: unknown): boolean {
  if (schema.const !== undefined) return value === schema.const;
  if (schema.nullable === true && value === null) return true;
  if (schema.enum !== undefined) return schema.enum.includes(value);
  if (schema.anyOf !== undefined) return schema.anyOf.some((choice) => fits(choice, value));
  return judges[schema.type ?? '']?.(schema, value) ?? true;
}

const judges: Readonly<Record<string, (schema: Schema, value: unknown) => boolean>> = {
  object({ properties = {}, required = [] }, value) {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
    return (
      required.every((name) => Object.hasOwn(value, name)) &&
      Object.entries(properties).every(
        ([name, schema]) =>
          !Object.hasOwn(value, name) || fits(schema, (value as Record<string, unknown>)[name]),
      )
    );
  },
  array({ items = {}, maxItems = Infinity }, value) {
    return Array.isArray(value) && value.length <= maxItems && value.every((v) => fits(items, v));
  },
  string({ minLength = 0, maxLength = Infinity, pattern }, value) {
    if (typeof value !== 'string') return false;
    const { length } = value;
    if (length < minLength || length > maxLength) return false;
    return pattern === undefined || (length <= 40 && isMoment(value));
  },
  integer(schema, value) {
    return Number.isInteger(value) && isWithin(schema, value as number);
  },
  number(schema, value) {
    return Number.isFinite(value) && isWithin(schema, value as number);
  },
  boolean: (_, value) => typeof value === 'boolean',
  null: (_, value) => value === null,
};

function isWithin({ minimum, maximum, exclusiveMinimum }: Schema, value: number): boolean {
  return (
    value >= (minimum ?? -Infinity) &&
    value <= (maximum ?? Infinity) &&
    value > (exclusiveMinimum ?? -Infinity)
  );
}

/** The protocol's only pattern is a date-time with a zone, which must also exist. */
function isMoment(text: string): boolean {
  const parts =
    /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.\d{1,9})?(?:Z|[+-](\d\d):(\d\d))$/.exec(text);
  if (parts === null) return false;
  const [year, month, day, hour, minute, second, zoneHour, zoneMinute] = parts
    .slice(1)
    .map((digits: string | undefined) => Number(digits ?? 0)) as EightNumbers;
  const isDay = month >= 1 && month <= 12 && day >= 1 && day <= 31 && year >= 1000 && year < 3000;
  const isTime = hour < 24 && minute < 60 && second < 60;
  return isDay && isTime && zoneHour < 24 && zoneMinute < 60;
}

type EightNumbers = [number, number, number, number, number, number, number, number];
