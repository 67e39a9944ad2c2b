/** The tables of tags against the data dictionaries of FIX 4.4 and 4.2 that QuickFIX comes with. */
import { readFileSync } from 'node:fs';
import t from 'tap';
import { reasonCodeOf, rejectReasons } from '../../src/fix/session-rules.js';
import { dataFields, groups, routes, sections, tags, types } from '../../src/fix/tags.js';
import { dictionaries, missingDictionary } from './quickfix.js';

const skip = missingDictionary('executor') || missingDictionary('ordermatch');
const [fix44, fix42] = skip === false ? [read('executor'), read('ordermatch')] : ['', ''];

function read(program: keyof typeof dictionaries): string {
  return readFileSync(dictionaries[program], 'utf8');
}

/** By names; those of FIX 4.4 count where both have one. */
const numbers = new Map(
  [...`${fix42}${fix44}`.matchAll(/<field number='(\d+)' name='(\w+)'/g)].map(
    ([, number, name = '']) => [name, Number(number)],
  ),
);

function numberOf(name: string): number {
  return numbers.get(name) ?? NaN;
}

function between(from: string, to: string): string {
  return fix44.slice(fix44.indexOf(from)).split(to)[0] as string;
}

/** Numbers of the fields in a part of the dictionary, with those of its groups and components. */
function fieldsIn(part: string): number[] {
  const fields = [...part.matchAll(/<(?:field|group) name='(\w+)'/g)].map(([, name = '']) => name);
  const components = [...part.matchAll(/<component name='(\w+)' required/g)];
  const inner = components.flatMap(([, name]) =>
    fieldsIn(between(`<component name='${name}'>`, '</component>')),
  );
  return [...fields.map(numberOf), ...inner];
}

function inOrder(list: Iterable<number>): number[] {
  return [...new Set(list)].toSorted((a, b) => a - b);
}

t.test('a tag and a type have the number and the letter of their name', { skip }, async (t) => {
  for (const [name, tag] of Object.entries(tags)) t.equal(tag, numberOf(name), name);
  const messages = [...fix44.matchAll(/<message name='(\w+)' msgcat='\w+' msgtype='(\w+)'/g)];
  const letters = new Map(messages.map(([, name = '', letter = '']) => [name, letter]));
  for (const [name, type] of Object.entries(types)) t.equal(type, letters.get(name), name);
});

t.test('each field of raw bytes is known by the field of its length', { skip }, async (t) => {
  const data = [...fix44.matchAll(/<field number='(\d+)' name='(\w+)' type='DATA'/g)];
  const pairs = data.map(([, number, name]): [number, number] => {
    const length = numbers.get(`${name}Len`) ?? numbers.get(`${name}Length`);
    return [length ?? NaN, Number(number)];
  });
  t.ok(pairs.length > 0);
  t.strictSame(new Map(dataFields), new Map(pairs.toSorted(([a], [b]) => a - b)));
});

t.test("header, trailer and the session's own messages have their fields", { skip }, async (t) => {
  const own = [...fix44.matchAll(/<message name='\w+' msgcat='admin' msgtype='[0-5A]'>/g)];
  const body = own.flatMap(([begin]) => fieldsIn(between(begin, '</message>')));
  t.strictSame(inOrder(sections.header), inOrder(fieldsIn(between('<header>', '</header>'))));
  t.strictSame(inOrder(sections.body), inOrder(body));
  t.strictSame(inOrder(sections.trailer), inOrder(fieldsIn(between('<trailer>', '</trailer>'))));
  for (const [count, fields] of groups) {
    const name = [...numbers].find(([, number]) => number === count)?.[0];
    t.strictSame([...fields], fieldsIn(between(`<group name='${name}'`, '</group>')).slice(1));
  }
});

t.test('a Reject tells no reason that its version of FIX lacks', { skip }, async (t) => {
  const reasons = Object.keys(rejectReasons) as (keyof typeof rejectReasons)[];
  for (const [version, dictionary] of [
    ['FIX.4.4', fix44],
    ['FIX.4.2', fix42],
  ] as const) {
    const [, field = ''] = dictionary.split("name='SessionRejectReason' type='INT'>");
    const codes = [...(field.split('</field>')[0] ?? '').matchAll(/enum='(\d+)'/g)];
    const known = codes.map(([, code]) => code);
    for (const reason of reasons) {
      const code = `${rejectReasons[reason].code}`;
      t.equal(reasonCodeOf(reason, version), known.includes(code) ? code : undefined, reason);
    }
  }
});

t.test('what came on behalf of others goes back to them', { skip }, async (t) => {
  const pairs = ['CompID', 'SubID', 'LocationID'].flatMap((what) => {
    const [from, to] = [numberOf(`OnBehalfOf${what}`), numberOf(`DeliverTo${what}`)];
    return [
      [from, to],
      [to, from],
    ] as const;
  });
  t.strictSame(inOrder(routes.keys()), inOrder(pairs.map(([from]) => from)));
  for (const [from, to] of pairs) t.equal(routes.get(from), to);
});
