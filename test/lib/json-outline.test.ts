import assert from 'node:assert/strict';
import fc from 'fast-check';
import t from 'tap';
import { Outline, namesPerLevel } from '../../src/lib/json-outline.js';

/** Texts are padded, because a short one stays as it is. */
const long = (text: string): string => text + ' '.repeat(2_000);
const outlineOf = (text: string, names: string[], depth: number): string =>
  Buffer.from(new Outline(names, depth).of(Buffer.from(text))).toString();
const parsed = (text: string, names: string[], depth: number): unknown =>
  JSON.parse(outlineOf(long(text), names, depth));

t.test('what is read of a long text stays, and the rest is empty', async (t) => {
  const text = '{"a":"x","b":{"a":"y","c":"z"},"d":[{"a":"u"},"v",1.50,null,true]}';
  t.strictSame(parsed(text, ['a', 'b'], 2), {
    a: 'x',
    b: { a: 'y', c: 'z' },
    d: [{ '': '' }, 'v', 1.5, null, true],
  });
});

t.test('a short text stays as it is', async (t) => {
  const bytes = Buffer.from('{"a":{"b":"c"}}');
  t.equal(new Outline([], 1).of(bytes), bytes);
});

t.test('a name is known however it is written', async (t) => {
  t.strictSame(parsed('{"x":{"\\u0061b":1,"a\\u0062" : 2,"\\u0061c":3,"a\\n":4}}', ['ab'], 2), {
    x: { ab: 2, ac: 3, 'a\n': 4 },
  });
  const others = Array.from({ length: namesPerLevel }, (_, i) => `"o${i}":1`).join(',');
  const known = parsed(
    `{${others},"\\u0061b":1,"a\\u0062" : 2,"\\u0061c":3,"a\\n":4}`,
    ['ab'],
    1,
  ) as any;
  t.strictSame(Object.entries(known).slice(namesPerLevel), [
    ['ab', 2],
    ['', 4],
  ]);
});

t.test('of thousands of names, as many of each level stay as an answer may tell', async (t) => {
  const names = Array.from({ length: 2_000 }, (_, i) => `k${i}`);
  const members = names.map((name) => `"${name}":1`).join(',');
  const kept = [...names.slice(0, namesPerLevel), '', 'known'];
  const root = parsed(
    `{${members},"known":{${members},"known":{${members}}}}`,
    ['known'],
    2,
  ) as any;
  t.strictSame(Object.keys(root), kept);
  t.strictSame(Object.keys(root.known), kept);
  t.strictSame(Object.keys(root.known.known), [''], 'below nothing is read');
});

t.test('a text that JSON does not allow stays, so that the whole is refused', async (t) => {
  for (const bad of ['"\\x"', '"\\u12g4"', '"\\u123', '"a\nb"', '"\u0000"', '"abc', '"\\']) {
    const text = `{"a":[[${bad}`;
    const name = JSON.stringify(bad);
    t.throws(() => parsed(text, [], 1), name);
    t.throws(() => JSON.parse(outlineOf(' '.repeat(2_000) + text, [], 1)), name);
  }
});

const names = ['a', 'bc', 'é'];
const read = ['a', 'bc'];
const value = fc.letrec<{ any: unknown }>((tie) => ({
  any: fc.oneof(
    { maxDepth: 5 },
    fc.oneof(fc.string(), fc.double({ noNaN: true, noDefaultInfinity: true }), fc.constant(null)),
    fc.array(tie('any'), { maxLength: 4 }),
    fc.dictionary(fc.oneof(fc.constantFrom(...names), fc.string()), tie('any'), { maxKeys: 4 }),
  ),
})).any;

t.test('of any JSON the outline parses to what is read of it', async () => {
  fc.assert(
    fc.property(value, fc.integer({ min: 1, max: 4 }), (any, depth) => {
      const text = JSON.stringify(any);
      const outline = parsed(text, read, depth);
      assert.deepEqual(ofRead(outline, depth), ofRead(JSON.parse(text), depth));
    }),
    { numRuns: 2_000 },
  );
});

t.test('the outline of any bytes is JSON exactly if they are', async () => {
  const pieces = ['{', '}', '[', ']', ',', ':', '"', '\\', 'u00e9', 'n', '1', 'é', '\n', ' ', 'a'];
  const soup = fc.array(fc.constantFrom(...pieces), { maxLength: 40 }).map((some) => some.join(''));
  const cut = fc
    .tuple(value, fc.nat(), fc.constantFrom(...pieces))
    .map(([any, at, piece]) => spliced(JSON.stringify(any), at, piece));
  fc.assert(
    fc.property(fc.oneof(soup, cut), (text) => {
      assert.equal(isJson(outlineOf(long(text), read, 2)), isJson(text), text);
    }),
    { numRuns: 5_000 },
  );
});

function spliced(text: string, at: number, piece: string): string {
  const place = at % (text.length + 1);
  return text.slice(0, place) + piece + text.slice(place + 1);
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** The members with names that are read, down to the depth; below it, how many values there are of each kind. */
function ofRead(any: unknown, depth: number): unknown {
  if (typeof any === 'string') return depth < 0 ? '' : any;
  if (typeof any !== 'object' || any === null) return any;
  if (Array.isArray(any)) return any.map((each) => ofRead(each, depth - 1));
  if (depth < 1) return 'object';
  return Object.fromEntries(
    Object.entries(any)
      .filter(([name]) => read.includes(name))
      .map(([name, each]) => [name, ofRead(each, depth - 1)]),
  );
}
