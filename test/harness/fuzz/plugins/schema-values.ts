/**
 * Random values that a schema allows: optional fields come and go, lengths and numbers are often at
 * their bounds. The caller sets what a schema does not say, such as ids and numbers.
 */
import type { Chance } from '../../chance.js';

/** The subset of JSON Schema that the protocol uses. */
export interface Schema {
  readonly type?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly nullable?: boolean;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly maxItems?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
}

/** Texts that are known to break parsers and serializers of JSON, keys and streams. */
export const edgeCaseTexts: readonly string[] = [
  'a',
  '0',
  ' ',
  '__proto__',
  'constructor',
  'null',
  'é',
  '\u0000',
  '\n\ndata: forged\n\n',
  '\r\n',
  '\u2028\u2029',
  '\ud83d\ude00',
  '\ud800',
  '\udfff',
  '\ufeff',
  '"}\\',
  '%00%0a',
  '../../',
];

const amounts = [0, 1, 2, 3, 0.1, 0.25, 1e-9, 12.5, 5000.25, 1e6, 123456789.125];

const longestListMade = 4;

export function randomValue(schema: Schema, chance: Chance): unknown {
  if (schema.const !== undefined) return schema.const;
  if (schema.enum !== undefined) return chance.pick(schema.enum);
  if (schema.anyOf !== undefined) return randomValue(chance.pick(schema.anyOf), chance);
  if (schema.nullable === true && chance.happens(0.1)) return null;
  return makers[schema.type ?? 'object']?.(schema, chance);
}

type Maker = (schema: Schema, chance: Chance) => unknown;

const makers: Readonly<Record<string, Maker>> = {
  object({ properties = {}, required = [] }, chance) {
    const made: Record<string, unknown> = {};
    for (const [name, schema] of Object.entries(properties)) {
      if (required.includes(name) || chance.happens(0.5)) made[name] = randomValue(schema, chance);
    }
    return made;
  },
  array({ items = {}, maxItems = longestListMade }, chance) {
    const length = chance.between(0, Math.min(maxItems, longestListMade));
    return Array.from({ length }, () => randomValue(items, chance));
  },
  string({ pattern, minLength = 0, maxLength = 200 }, chance) {
    return pattern === undefined ? textOf(chance, minLength, maxLength) : timeOf(chance);
  },
  integer({ minimum = 0 }, chance) {
    return minimum + chance.between(0, 100);
  },
  number({ minimum, exclusiveMinimum }, chance) {
    const amount = chance.pick(amounts);
    if (exclusiveMinimum !== undefined) return amount > exclusiveMinimum ? amount : 1;
    return minimum === undefined && chance.happens(0.2) ? -amount : amount;
  },
  boolean: (_, chance) => chance.happens(0.5),
  null: () => null,
};

/** A text of at least `min` and at most `max` UTF-16 code units, often with exactly so many. */
export function textOf(chance: Chance, min: number, max: number): string {
  const length = chance.pick([min, max, chance.between(min, Math.min(max, 24))]);
  let text = '';
  while (text.length < length) {
    text += chance.happens(0.3) ? chance.pick(edgeCaseTexts) : chance.between(0, 999).toString(36);
  }
  return text.slice(0, length);
}

/** A valid date-time in one of the allowed forms. */
function timeOf(chance: Chance): string {
  const moment = new Date(Date.UTC(2026, chance.between(0, 11), chance.between(1, 31)));
  const day = moment.toISOString().slice(0, 10);
  const fraction = chance.pick(['', '.5', '.123', '.123456789']);
  return `${day}T12:34:56${fraction}${chance.pick(['Z', '+00:00', '-05:30', '+14:00'])}`;
}
