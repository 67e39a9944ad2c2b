/**
 * The limits of an API key: which bodies of `limits` are valid, and which addresses a key may be used from.
 * Caches a key's parsed ranges by its record, which stays the same object until it changes.
 */
import type { FieldError } from '../errors.js';
import { type Cidr, isCidr, isInRange, parseCidr } from '../lib/cidr.js';
import { isObject } from '../lib/is-object.js';
import { listOf } from '../lib/json-types.js';
import { unknownFields } from '../lib/unknown-fields.js';
import Type from 'typebox';
import type { ApiKey, KeyLimits } from '../model/records.js';

const listLengths = {
  allowedIps: { minItems: 1, maxItems: 16 },
  allowedInstruments: { minItems: 1, maxItems: 64 },
} as const;
const instrumentLengths = { minLength: 1, maxLength: 128 } as const;
/** For all instruments as JSON: a user may have hundreds of keys, and a list of keys shows their limits. */
const instrumentsBytesMax = 4_096;
const ordersPerSecond = { minimum: 1, maximum: 1_000 } as const;

/** What a request may have. */
export const keyLimitsRequestSchema = Type.Object(
  {
    allowedIps: Type.Optional(Type.Array(Type.String(), listLengths.allowedIps)),
    allowedInstruments: Type.Optional(
      Type.Array(Type.String(instrumentLengths), {
        ...listLengths.allowedInstruments,
        description: `The instruments that orders may have, as JSON together at most ${instrumentsBytesMax} bytes.`,
      }),
    ),
    maxOrderQuantity: Type.Optional(Type.Number({ exclusiveMinimum: 0 })),
    maxOpenOrders: Type.Optional(Type.Integer({ minimum: 1 })),
    maxOrdersPerSecond: Type.Optional(Type.Integer(ordersPerSecond)),
  },
  { additionalProperties: false },
);

/** What an answer has: the members that the key was made with. */
export const keyLimitsSchema = Type.Object({
  allowedIps: Type.Optional(listOf(Type.String())),
  allowedInstruments: Type.Optional(listOf(Type.String())),
  maxOrderQuantity: Type.Optional(Type.Number()),
  maxOpenOrders: Type.Optional(Type.Integer()),
  maxOrdersPerSecond: Type.Optional(Type.Integer()),
});

type Name = keyof KeyLimits;
/** @returns the code of the violated rule; undefined for a valid value. */
type Rule = (value: unknown) => string | undefined;

const rules: Readonly<Record<Name, Rule>> = {
  allowedIps: (value) => listFault(value, listLengths.allowedIps, isCidr, 'invalid_address'),
  allowedInstruments: (value) =>
    listFault(value, listLengths.allowedInstruments, isInstrument, 'invalid_instrument') ??
    (jsonBytes(value) > instrumentsBytesMax ? 'invalid_length' : undefined),
  maxOrderQuantity: (value) => rangeFault(Number.isFinite(value) && (value as number) > 0),
  maxOpenOrders: (value) => rangeFault(Number.isSafeInteger(value) && (value as number) >= 1),
  maxOrdersPerSecond: (value) => {
    const { minimum, maximum } = ordersPerSecond;
    const rate = value as number;
    return rangeFault(Number.isInteger(value) && rate >= minimum && rate <= maximum);
  },
};

/** @returns the limits, null if there are none, or every violated rule, known members first. */
export function parseKeyLimits(value: unknown): KeyLimits | null | FieldError[] {
  if (value === undefined || value === null) return null;
  if (!isObject(value)) return [{ field: 'limits', code: 'object_required' }];
  const fields: Partial<Record<Name, unknown>> = value;
  const errors: FieldError[] = [];
  for (const name of Object.keys(rules) as Name[]) {
    if (!Object.hasOwn(value, name)) continue;
    const code = rules[name](fields[name]);
    if (code !== undefined) errors.push({ field: `limits.${name}`, code });
  }
  for (const { field, code } of unknownFields(value, keyLimitsRequestSchema)) {
    errors.push({ field: `limits.${field}`, code });
  }
  if (errors.length > 0) return errors;
  return Object.keys(value).length === 0 ? null : (fields as KeyLimits);
}

const rangesOf = new WeakMap<ApiKey, readonly Cidr[]>();

/** @param client its address has 4 or 16 bytes; one of any other length is not known, and in no range. */
export function isAddressAllowed(key: ApiKey, client: { readonly address: Uint8Array }): boolean {
  const allowed = key.limits?.allowedIps;
  if (allowed === undefined) return true;
  let ranges = rangesOf.get(key);
  if (ranges === undefined) {
    ranges = allowed.map(parseCidr);
    rangesOf.set(key, ranges);
  }
  const { address } = client;
  return ranges.some((range) => isInRange(range, address));
}

function listFault(
  value: unknown,
  { minItems, maxItems }: { readonly minItems: number; readonly maxItems: number },
  isItem: (item: unknown) => boolean,
  code: string,
): string | undefined {
  if (!Array.isArray(value)) return 'array_required';
  if (value.length < minItems || value.length > maxItems) return 'invalid_length';
  return value.every(isItem) ? undefined : code;
}

function isInstrument(item: unknown): boolean {
  const { minLength, maxLength } = instrumentLengths;
  return typeof item === 'string' && item.length >= minLength && item.length <= maxLength;
}

function jsonBytes(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}

function rangeFault(isInside: boolean): string | undefined {
  return isInside ? undefined : 'out_of_range';
}
