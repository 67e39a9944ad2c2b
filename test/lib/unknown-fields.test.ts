import t from 'tap';
import {
  fieldNameLengthMax,
  unknownFields,
  unknownFieldsToldMax,
} from '../../src/lib/unknown-fields.js';

const schema = { properties: { a: {}, b: {} } };

t.test('what the schema does not have is told in the body’s order', async (t) => {
  const body: unknown = JSON.parse('{"z":1,"a":1,"__proto__":{},"constructor":1,"A":1}');
  t.strictSame(
    unknownFields(body, schema),
    ['z', '__proto__', 'constructor', 'A'].map((field) => ({ field, code: 'unknown_field' })),
  );
  t.strictSame(unknownFields({ b: 1 }, schema), []);
});

t.test('what is no object has no fields', async (t) => {
  for (const body of [null, undefined, [1], 'text', 7])
    t.strictSame(unknownFields(body, schema), []);
});

t.test('the number and the length of the names are bounded', async (t) => {
  const name = (length: number) => 'x'.repeat(length);
  const told = unknownFields(
    { [name(fieldNameLengthMax)]: 1, [name(fieldNameLengthMax + 1)]: 1 },
    schema,
  );
  t.strictSame(
    told.map(({ field }) => field),
    [name(fieldNameLengthMax), `${name(fieldNameLengthMax)}…`],
  );
  const many = Object.fromEntries(Array.from({ length: 5_000 }, (_, i) => [`f${i}`, i]));
  t.equal(unknownFields(many, schema).length, unknownFieldsToldMax);
});

t.test('no name is cut within a character, which strict clients could not read', async (t) => {
  const start = 'x'.repeat(fieldNameLengthMax - 1);
  const [told] = unknownFields({ [`${start}😀`]: 1 }, schema);
  t.equal(told?.field, `${start}…`);
});
