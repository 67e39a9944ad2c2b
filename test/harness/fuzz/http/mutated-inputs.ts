/** Any other input with random bytes changed, cut at random, and any ending. */
import type { Chance } from '../../chance.js';
import type { Material } from './valid-requests.js';
import type { Input } from './input.js';
import { cut } from './plain-inputs.js';

/** Bytes with a meaning in HTTP or JSON. */
const significant = '\r\n\t\0 :;,="\\{}[]0123456789abcdefgGxX-+%/?#.\x7f\x80\xa0\xff'.split('');

// oxfmt-ignore
const mutations: readonly ((text: string, at: number, chance: Chance) => string)[] = [
  (text, at, chance) => text.slice(0, at) + chance.pick(significant) + text.slice(at + 1),
  (text, at, chance) => text.slice(0, at) + chance.pick(significant) + text.slice(at),
  (text, at, chance) => text.slice(0, at) + String.fromCharCode(chance.between(0, 255)) + text.slice(at + 1),
  (text, at, chance) => text.slice(0, at) + text.slice(at + chance.between(1, 8)),
  (text, at, chance) => text.slice(0, at) + text.slice(at, at + chance.between(1, 60)) + text.slice(at),
  (text, at, chance) => text.slice(0, at) + text.slice(chance.between(0, text.length)).slice(0, 40) + text.slice(at),
];

export function changeBytes(text: string, chance: Chance): string {
  let changed = text;
  for (let left = chance.between(1, 4); left > 0; left--) {
    changed = chance.pick(mutations)(changed, chance.between(0, changed.length), chance);
  }
  return changed;
}

export function mutatedInput(material: Material, other: (material: Material) => Input): Input {
  const { chance } = material;
  const { name, pieces } = other(material);
  let bytes = pieces.join('');
  // A long body mostly repeats one byte.
  if (bytes.length > 8_000) bytes = bytes.slice(0, 8_000);
  if (chance.happens(0.85)) bytes = changeBytes(bytes, chance);
  if (chance.happens(0.2)) bytes = bytes.slice(0, chance.between(0, bytes.length));
  return {
    name: `noise in ${name}`,
    pieces: chance.happens(0.5) ? [bytes] : cut(bytes, chance),
    isPlain: false,
    ending: chance.weigh({ leave: 8, 'half-close': 1, reset: 1 }),
  };
}
