/** Bodies of signals, valid and mutated in members, structure and bytes. The HTTP is valid. */
import type { Chance } from '../../chance.js';
import { idOf, signalMembers, submitDraft, write, type Material } from './valid-requests.js';
import type { Input } from './input.js';
import { changeBytes } from './mutated-inputs.js';

type Members = [name: string, text: string][];

/** As latin1: one character per byte. */
const utf8 = (text: string): string => Buffer.from(text).toString('latin1');

// oxfmt-ignore
const oddValues: readonly string[] = [
  'null', 'true', 'false', '0', '-0', '-0.0', '1', '1.0', '1e0', '10e-1', '2', '1e999', '-1e999', '5e-324', '0.1', '-1', '300000', '300001', '299999.5',
  '9007199254740993', '253402300799999', '253402300800000', '18446744073709551616', '1'.repeat(400), '01', '+1', '.5', '1.', '1e', '0x1', '1_0', 'NaN', 'Infinity', 'undefined',
  '""', '" "', '"\\u0000"', '"\\ud800"', '"\\udc00\\ud800"', utf8('"é😀"'), '"\xff"', '"\xc0\xaf"', '"\xed\xa0\x80"', '"\xf4\x90\x80\x80"', '"\0"', '"\t"', '"\\x"', '"\\u12"', "'x'", '"', '"\\"',
  `"${'x'.repeat(64)}"`, `"${'x'.repeat(65)}"`, `"${'x'.repeat(128)}"`, `"${'x'.repeat(129)}"`, `"${utf8('😀').repeat(64)}"`, `"${utf8('😀').repeat(65)}"`,
  '"terminal_a,terminal_a"', '" terminal_a , terminal_b "', '"terminal_b"', '"terminal_a,"', '","', '"TERMINAL_A"', '"__proto__"', '"constructor"', '"fuzz-1"', '"fuzz-2"', '"Sim101"',
  '[]', '[1]', '{}', '{"__proto__":{"polluted":true}}', '{"constructor":{"prototype":{"polluted":true}}}', '{"a":1,"a":2}', '{"":""}', '{"toString":1,"valueOf":1,"toJSON":1,"then":1}', '[[[[]]]]', '{"length":1e9}',
];

/** Weights: payloads that are hard to handle more often. */
const payloads: Readonly<Record<string, (chance: Chance) => string>> = {
  deep: (chance) => nested(chance.between(1, 40), chance.pick(['[]', '{"a":}'])),
  'at the limit of depth': (chance) => `{"a":${nested(chance.between(13, 16), '[]')}}`,
  wide: (chance) =>
    `{${Array.from({ length: chance.between(1, 5_000) }, (_, at) => `"k${at}":${at}`).join(',')}}`,
  'many elements': (chance) => `{"a":[${'0,'.repeat(chance.between(1, 25_000))}0]}`,
  'a long text': (chance) => `{"text":"${'x'.repeat(chance.between(60_000, 66_000))}"}`,
  'many escapes': (chance) =>
    `{"text":"${'\\u0000\\"\\\\\\/\\ud800'.repeat(chance.between(1, 2_000))}"}`,
  'brackets in texts': (chance) =>
    `{"${'[{'.repeat(chance.between(1, 50))}":"${'}]'.repeat(30)}\\"{"}`,
  'many equal names': (chance) => `{${'"a":1,'.repeat(chance.between(1, 5_000))}"a":2}`,
  'a payload in the payload': () => '{"payload":{"payload":[]},"signalId":"x","v":2}',
  'a long number': (chance) => `{"n":0.${'1'.repeat(chance.between(1, 20_000))}}`,
};

const structures: Readonly<Record<string, (text: string, chance: Chance) => string>> = {
  'a byte order mark': (text) => `\xef\xbb\xbf${text}`,
  UTF16: (text) => Buffer.from(text, 'utf16le').toString('latin1'),
  'blanks around': (text, chance) => `${' \t\r\n'.repeat(chance.between(1, 500))}${text}\n\n`,
  'a form feed behind': (text) => `${text}\f`,
  'a NUL behind': (text) => `${text}\0`,
  'a comma behind the last member': (text) => text.replace(/\}$/, ',}'),
  'a comment': (text) => text.replace('{', '{/* */'),
  'two of them': (text) => text + text,
  'in an array': (text) => `[${text}]`,
  'as a text': (text) => JSON.stringify(text),
  'cut off': (text, chance) => text.slice(0, chance.between(0, text.length - 1)),
  'never closed': (_, chance) =>
    chance.pick(['[', '{"a":', '"', '[{']).repeat(chance.between(1, 8_000)),
  'nothing but brackets': (_, chance) => nested(chance.between(1, 15_000), '[]'),
  'names with escapes': (text) => text.replace('"payload"', '"p\\u0061yload"'),
  'a second payload': (text) => text.replace('{', '{"payload":[],'),
  'a last payload': (text) => text.replace(/\}$/, ',"payload":{"last":[1]}}'),
  'noise in it': (text, chance) => changeBytes(text, chance),
};

export function bodyInput(material: Material): Input {
  const { chance } = material;
  const signalId = idOf(chance);
  const members = Object.entries(signalMembers(signalId));
  const names: string[] = [];
  if (chance.happens(0.6)) names.push(changeMembers(members, chance));
  if (chance.happens(0.3)) {
    const name = chance.pick(Object.keys(payloads));
    names.push(name);
    const payload = members.find(([member]) => member === 'payload');
    if (payload !== undefined) payload[1] = (payloads[name] as (chance: Chance) => string)(chance);
  }
  let text = `{${members.map(([name, value]) => `"${name}":${value}`).join(',')}}`;
  if (chance.happens(0.35)) {
    const name = chance.pick(Object.keys(structures));
    names.push(name);
    text = (structures[name] as (text: string, chance: Chance) => string)(text, chance);
  }
  const bytes = write(submitDraft(material, text));
  return { name: `body: ${names.join(', ')}`, pieces: [bytes], isPlain: true, ending: 'leave' };
}

function changeMembers(members: Members, chance: Chance): string {
  const told: string[] = [];
  for (let left = chance.between(1, 3); left > 0; left--) {
    const at = chance.between(0, members.length - 1);
    const [name] = members[at] as [string, string];
    const value = chance.pick(oddValues);
    const kind = chance.weigh({ value: 5, missing: 1, twice: 1, more: 1 });
    if (kind === 'value') members[at] = [name, value];
    else if (kind === 'missing' && members.length > 1) members.splice(at, 1);
    else if (kind === 'twice') members.splice(chance.between(0, members.length), 0, [name, value]);
    else
      members.push([
        chance.pick([
          '__proto__',
          'constructor',
          'instanceId',
          'accountName',
          'prototype',
          'x',
          '',
        ]),
        value,
      ]);
    told.push(`${name} ${kind}`);
  }
  return told.join(', ');
}

/** `around`: the opening and closing part of each level. */
function nested(depth: number, around: string): string {
  return `${around.slice(0, -1).repeat(depth)}${around === '[]' ? '' : '1'}${around.slice(-1).repeat(depth)}`;
}
