import assert from 'node:assert/strict';
import fc from 'fast-check';
import t from 'tap';
import { scanJson } from '../../src/lib/json-scan.js';

const depths: [string, number][] = [
  ['7', 1],
  ['"[{["', 1],
  ['{}', 1],
  ['[]', 1],
  ['[[]]', 2],
  ['{"a":{"b":[{}]}}', 4],
  ['[[],[[]],[]]', 3],
  ['{"a":"]}\\"[{","b":[]}', 2],
];
for (const [text, depth] of depths) {
  t.test(`${text} is ${depth} deep`, async (t) => {
    t.equal(scanJson(Buffer.from(text), 'payload').depth, depth);
  });
}

const spans: [string, string, string | undefined][] = [
  ['as it was written', '{"a":1,"payload": {"x" : 1.10} }', '{"x" : 1.10}'],
  [
    'no digit lost',
    '{"payload":{"n":12345678901234567890.0100}}',
    '{"n":12345678901234567890.0100}',
  ],
  ['the last one where it is repeated', '{"payload":{"a":1},"payload":{"b":2}}', '{"b":2}'],
  ['its name escaped', '{"p\\u0061yload":{"a":1}}', '{"a":1}'],
  [
    'its name escaped whole',
    '{"\\u0070\\u0061\\u0079\\u006c\\u006f\\u0061\\u0064":[1,2]}',
    '[1,2]',
  ],
  ['not one that is deeper', '{"a":{"payload":1},"b":[{"payload":2}]}', undefined],
  ['not a value of that name', '{"a":"payload","b":["payload",1]}', undefined],
  ['not a longer name', '{"payloads":1,"xpayload":2,"payload\\n":3}', undefined],
  ['commas and brackets in its strings', '{"payload":{"a":",}\\\\"},"b":1}', '{"a":",}\\\\"}'],
  ['a string that ends in a backslash', '{"b":"\\\\","payload":"\\"","c":1}', '"\\""'],
  ['not a member of an array', '["payload",{"payload":1}]', undefined],
];
for (const [name, text, expected] of spans) {
  t.test(`the member’s value: ${name}`, async (t) => {
    t.equal(spanOf(text), expected);
  });
}

t.test('on any JSON the span parses to the member’s value and the depth is right', async () => {
  const names = ['payload', 'p\\u0061yload', 'Payload', 'pay', 'a', 'payload2', '\\u0070ayload'];
  const members = fc.array(
    fc.tuple(
      fc.constantFrom(...names),
      fc.oneof(fc.json({ maxDepth: 4 }), fc.constant('{"payload":[{"payload":1}]}')),
      fc.constantFrom('', ' ', '\n\t'),
    ),
    { maxLength: 6 },
  );
  fc.assert(
    fc.property(members, (parts) => {
      const text = `{${parts.map(([n, v, s]) => `${s}"${n}"${s}:${s}${v}${s}`).join(',')}}`;
      const value = JSON.parse(text) as Record<string, unknown>;
      const span = spanOf(text);
      assert.deepEqual(span === undefined ? undefined : JSON.parse(span), value['payload']);
      assert.equal(scanJson(Buffer.from(text), 'payload').depth, deepestOf(text));
    }),
    { numRuns: 2_000 },
  );
});

t.test('on any JSON at all the depth is right', async () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 8 }), (text) => {
      assert.equal(scanJson(Buffer.from(text), 'x').depth, nesting(JSON.parse(text)));
    }),
    { numRuns: 1_000 },
  );
});

t.test('bytes that are no JSON at all are scanned without a throw', async () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
      scanJson(bytes, 'payload');
    }),
  );
});

function spanOf(text: string): string | undefined {
  const bytes = Buffer.from(text);
  const { start, end } = scanJson(bytes, 'payload');
  return start < 0 ? undefined : bytes.subarray(start, end).toString().trim();
}

/** Counts brackets outside strings, with a stack: slow, and plain. */
function deepestOf(text: string): number {
  const bare = text.replace(/"(\\.|[^"\\])*"/g, '');
  let level = 0;
  let deepest = 1;
  for (const c of bare) {
    if (c === '{' || c === '[') deepest = Math.max(deepest, ++level);
    if (c === '}' || c === ']') level--;
  }
  return deepest;
}

function nesting(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1;
  return (
    1 +
    Math.max(
      0,
      ...Object.values(value).map((each) =>
        typeof each === 'object' && each !== null ? nesting(each) : 0,
      ),
    )
  );
}
