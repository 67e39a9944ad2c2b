import t from 'tap';
import { memberNames } from '../../src/lib/json-members.js';

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
