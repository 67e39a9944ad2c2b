import assert from 'node:assert/strict';
import fc from 'fast-check';
import t from 'tap';
import { ambiguousMembers, memberNames, repeatedMembers } from '../../src/lib/json-members.js';

t.test('names are those of the object itself, as often as they occur', (t) => {
  const rows: readonly (readonly [text: string, names: string[]])[] = [
    ['{}', []],
    [' { "a" : 1 , "b" : "c" } ', ['a', 'b']],
    ['{"a":1,"A":2,"a":3}', ['a', 'A', 'a']],
    ['{"a":{"b":1,"c":{"d":2}},"e":[{"f":1},"g","h"],"i":[1,2]}', ['a', 'e', 'i']],
    ['{"a":"{\\"b\\":1,","c\\"":"\\\\","d":""}', ['a', 'c"', 'd']],
    ['{"\\u0061":1}', ['a']],
  ];
  for (const [text, names] of rows) {
    t.doesNotThrow(() => JSON.parse(text) as unknown, text);
    t.strictSame(memberNames(text), names, text);
  }
  t.end();
});

t.test('names within are those of the object at the path', async (t) => {
  const text = '{"a":{"2":1,"b":{"c":1},"1":2},"d":[{"e":1},{"f":1}],"b":{"g":1}}';
  t.strictSame(memberNames(text, ['a']), ['2', 'b', '1']);
  t.strictSame(memberNames(text, ['a', 'b']), ['c']);
  t.strictSame(memberNames(text, ['d', 1]), ['f']);
  t.strictSame(memberNames(text, ['c']), []);
});

t.test(
  'a member is ambiguous when the object has it twice, in whatever case and however written',
  async (t) => {
    const rows: readonly (readonly [text: string, ambiguous: string[]])[] = [
      ['{}', []],
      ['{"as":1,"of":2,"ass":3,"a":4,"sa":5,"\\n":6}', []],
      ['{"as":1,"As":2,"of":3}', ['as']],
      ['{"as":1,"a\u017f":2,"o\\u0066":3,"\\u004F\\u0046":4}', ['as', 'of']],
      ['{"a":{"as":1,"as":2},"b":["as","as"],"c":"as"}', []],
    ];
    for (const [text, ambiguous] of rows) {
      t.strictSame([...ambiguousMembers(text, ['as', 'of'])], ambiguous, text);
    }
  },
);

t.test('ambiguous members are those whose decoded names are the same without case', async () => {
  const character = fc.constantFrom(
    ...['a', 'A', 's', 'S', 'k', 'K', 'ſ', '\u212a', '\\', '\n', '"', 'ß', 'İ', '😀', '\ud83d'],
  );
  const name = fc.string({ unit: character, maxLength: 3 });
  fc.assert(
    fc.property(fc.array(name), fc.boolean(), (names, isEscaped) => {
      const text = `{${names.map((each) => `${JSON.stringify(each)}:1`).join(',')}}`;
      const written = isEscaped ? text.replace(/[a-zA-Zſ]/g, escaped) : text;
      const folded = names.map((each) => each.toUpperCase().toLowerCase());
      const isTwice = (wanted: string): boolean =>
        folded.indexOf(wanted) !== folded.lastIndexOf(wanted);
      assert.deepEqual(
        [...ambiguousMembers(written, ['as', 'k', 'ss'])].sort(),
        ['as', 'k', 'ss'].filter(isTwice),
      );
    }),
    { numRuns: 3_000 },
  );
});

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

t.test('a member is repeated when its own object has had its name', (t) => {
  const rows: readonly (readonly [text: string, repeated: string[]])[] = [
    ['{}', []],
    ['{"a":{"b":1},"c":{"b":2},"d":[{"b":3},{"b":4},{}, "b","b"]}', []],
    ['{"a":1,"b":2,"a":3,"a":4}', ['a']],
    ['{"a":1,"\\u0061":2}', ['a']],
    ['{"a":{"b":1,"c":{},"b":2}}', ['a.b']],
    ['{"a":[{"b":1},{"b":1,"c":[1,2],"b":2}]}', ['a[1].b']],
    ['{"a":{"b":1},"a":{"b":2}}', ['a', 'a.b']],
  ];
  for (const [text, repeated] of rows) t.strictSame(repeatedMembers(text), repeated, text);
  t.end();
});
