import t from 'tap';
import { memberNames, repeatedMembers } from '../../src/lib/json-members.js';

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
