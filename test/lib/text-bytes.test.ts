import fc from 'fast-check';
import t from 'tap';
import { TextBytes, constantBytes } from '../../src/lib/text-bytes.js';

const bytes = new TextBytes();
const taken = (filled: TextBytes): string => Buffer.from(filled.take()).toString();
const anyText = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({ unit: 'grapheme' }),
  fc.string(),
);

t.test('texts, numbers and constants stand one after the other', async (t) => {
  fc.assert(
    fc.property(fc.array(fc.oneof(anyText, fc.nat())), (parts) => {
      bytes.begin();
      for (const part of parts) {
        if (typeof part === 'number') bytes.number(part);
        else if (part.length % 2 === 0) bytes.text(part);
        else bytes.raw(constantBytes(part));
      }
      t.equal(taken(bytes), Buffer.from(parts.join('')).toString());
    }),
  );
});

t.test('every number has its digits', async (t) => {
  const last = Number.MAX_SAFE_INTEGER;
  for (const number of [0, 9, 10, 99, 100, 1_199, 999_999, 1_000_000, 1_767_225_600_001, last]) {
    t.equal(taken(bytes.begin().number(number)), String(number));
  }
});

t.test('a text as JSON is what JSON makes of it', async (t) => {
  const known = ['', 'a', '"', '\\', '\n', '\u007f', 'é', '\ud800', '’', '\u2028'];
  for (const text of known) t.equal(taken(bytes.begin().json(text)), JSON.stringify(text));
  fc.assert(
    fc.property(anyText, (text) => t.equal(taken(bytes.begin().json(text)), JSON.stringify(text))),
  );
});

t.test('a list is what JSON makes of it', async (t) => {
  const known = [undefined, NaN, -0, -1, 1.5, 1e21, 1e-7, true, [], {}, 'x'.repeat(100)];
  t.equal(taken(bytes.begin().list(known)), JSON.stringify(known));
  const value = fc.oneof(fc.maxSafeInteger(), fc.jsonValue(), anyText);
  fc.assert(
    fc.property(fc.array(value), (list) =>
      t.equal(taken(bytes.begin().list(list)), JSON.stringify(list)),
    ),
  );
});

t.test('a price is what JSON makes of it, however many decimals it has', async (t) => {
  const known = [0.1, 0.3, 0.000001, 0.0000009, 0.00000001, 999_999.99999999, 1_000_000.5, 1.005];
  t.equal(taken(bytes.begin().list(known)), JSON.stringify(known));
  const withDecimals = (whole: fc.Arbitrary<number>, most: number) =>
    fc.tuple(whole, fc.nat(most)).map(([digits, places]) => digits / 10 ** places);
  const decimal = withDecimals(fc.maxSafeInteger(), 12);
  const price = withDecimals(fc.nat(10 ** 9), 9);
  fc.assert(
    fc.property(fc.oneof(decimal, price, fc.double()), (number) => {
      t.equal(taken(bytes.begin().list([number])), JSON.stringify([number]));
    }),
    { numRuns: 2_000 },
  );
});

t.test('nothing ends a header’s line', async (t) => {
  t.equal(taken(bytes.begin().text('a: ').line('b\r\nc: d\0')), 'a: b  c: d ');
  t.equal(taken(bytes.begin().line('é\n')), 'é ');
});

t.test('what is longer than ever before fits, and what comes after it', async (t) => {
  const own = new TextBytes();
  t.equal(taken(own.begin().text('short')), 'short');
  for (const length of [4_095, 4_096, 4_097, 100_000]) {
    const text = 'x'.repeat(length);
    t.equal(taken(own.begin().text('a').json(text).raw(constantBytes(text))), `a"${text}"${text}`);
  }
  t.equal(taken(own.begin().text('short')), 'short');
});
