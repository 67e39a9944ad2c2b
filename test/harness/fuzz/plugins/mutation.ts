/**
 * Mutates a valid frame in its structure (drop, add, retype, cross a bound, nest, widen) or its text
 * (duplicate a member, cut, append, escape). The result may still be valid: frame-oracle.ts decides.
 */
import type { Chance } from '../../chance.js';
import { edgeCaseTexts } from './schema-values.js';

type Holder = Record<string, unknown> | unknown[];

const otherValues: readonly (() => unknown)[] = [
  () => null,
  () => true,
  () => '',
  () => '1',
  () => 0,
  () => -1,
  () => 1.5,
  () => 2 ** 53,
  () => 1e308,
  () => [],
  () => [[]],
  () => ({}),
  () => ({ toString: 1, valueOf: 2 }),
  () => ({ length: 3 }),
  () => ({ toJSON: 'x', then: 'y' }),
  () => 'x'.repeat(129),
  () => 'y'.repeat(8193),
  () => '2026-13-45T99:99:99Z',
  () => '9999-12-31T23:59:59-01:00',
  () => '0000-01-01T00:00:00+01:00',
  () => nested(63),
  () => nested(65),
  () => Object.fromEntries(Array.from({ length: 2000 }, (_, i) => [`k${i}`, i])),
  () => Array.from({ length: 1001 }, (_, i) => i),
];

const structural = {
  drop(holder: Holder, key: string) {
    if (Array.isArray(holder)) holder.splice(Number(key), 1);
    else Reflect.deleteProperty(holder, key);
  },
  retype(holder: Holder, key: string, chance: Chance) {
    put(holder, key, chance.pick(otherValues)());
  },
  add(holder: Holder, _: string, chance: Chance) {
    const name = chance.pick(['__proto__', 'constructor', 'extra', 'seq', 'status', 'fill', '']);
    if (Array.isArray(holder)) holder.push(chance.pick(otherValues)());
    else put(holder, name, chance.pick(otherValues)());
  },
  text(holder: Holder, key: string, chance: Chance) {
    const before = (holder as Record<string, unknown>)[key];
    const base = typeof before === 'string' ? before : '';
    put(holder, key, base + chance.pick(edgeCaseTexts));
  },
  bound(holder: Holder, key: string, chance: Chance) {
    const before = (holder as Record<string, unknown>)[key];
    if (typeof before === 'number') {
      put(holder, key, chance.pick([-before, before + 0.5, 0, -0, Number.MAX_SAFE_INTEGER + 1]));
    } else if (typeof before === 'string') {
      put(holder, key, before.repeat(chance.pick([0, 2, 200])).slice(0, 9000));
    }
  },
  list(holder: Holder, key: string) {
    const before = (holder as Record<string, unknown>)[key];
    put(holder, key, [before]);
  },
} as const;

/** Mutates the frame in place one to three times, often its `type`. */
export function mutate(frame: Record<string, unknown>, chance: Chance): void {
  if (chance.happens(0.25)) put(frame, 'type', chance.pick(otherValues)());
  for (let left = chance.pick([1, 1, 2, 3]); left > 0; left--) {
    const holder = chance.pick(holdersIn(frame));
    const keys = Object.keys(holder);
    if (keys.length === 0) continue;
    const kind = chance.pick(Object.keys(structural) as (keyof typeof structural)[]);
    structural[kind](holder, chance.pick(keys), chance);
  }
}

const textual: readonly ((text: string, chance: Chance) => string)[] = [
  (text, chance) => text.slice(0, chance.between(0, text.length)),
  (text, chance) => text + chance.pick(['}', '\u0000', ' ', '\n\n', text, ',']),
  (text, chance) => chance.pick(['\ufeff', ' \t\r\n', '\u00a0', '[', '//']) + text,
  // Duplicate members: the last one counts.
  (text, chance) => text.replace('{', () => `{${text.slice(1, -1)},${chance.pick(members)},`),
  (text, chance) => `${text.slice(0, -1)},${chance.pick(members)}}`,
  (text, chance) => text.replace(/\d+/, () => chance.pick(numerals)),
  (text) =>
    text.replace(/"(\w)/g, (_, letter: string) => `"\\u00${letter.charCodeAt(0).toString(16)}`),
  (text, chance) => {
    const at = chance.between(0, text.length);
    return text.slice(0, at) + String.fromCharCode(chance.between(0, 0x2ff)) + text.slice(at + 1);
  },
  (text) => text.replaceAll('"', "'"),
];

const members = [
  '"__proto__":{"status":"filled","type":"hello"}',
  '"type":"heartbeat"',
  '"type":"nothing"',
  '"seq":0',
  '"status":"denied"',
  '"data":{"a":[1]}',
];

const numerals = [
  '1e400',
  '-1e400',
  '1e0',
  '01',
  '0x1',
  'NaN',
  '9007199254740993',
  '1.0',
  '-0',
  '1e-400',
];

export function mutateText(text: string, chance: Chance): string {
  return chance.pick(textual)(text, chance);
}

function holdersIn(value: unknown): Holder[] {
  if (typeof value !== 'object' || value === null) return [];
  return [value as Holder, ...Object.values(value).flatMap(holdersIn)];
}

/** As JSON.parse: `__proto__` becomes an own property. */
function put(holder: Holder, key: string, value: unknown): void {
  Object.defineProperty(holder, key, {
    value,
    enumerable: true,
    configurable: true,
    writable: true,
  });
}

function nested(depth: number): unknown {
  return JSON.parse('['.repeat(depth) + ']'.repeat(depth));
}
