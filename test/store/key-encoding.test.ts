import fc from 'fast-check';
import t from 'tap';
import { encodeKey, keyBytesMax, readKey } from '../../src/store/key-encoding.js';

const text = fc.string({ unit: 'binary', maxLength: 80 });
const number = fc.double({ noNaN: true }).map((value) => value + 0);
const key = fc.oneof(
  text,
  number,
  fc.array(fc.oneof(text, number), { minLength: 2, maxLength: 4 }),
);

t.test('every key comes back from its bytes as it was', async (t) => {
  fc.assert(
    fc.property(key, (key) => {
      const bytes = encodeKey(key);
      t.strictSame(readKey(bytes, 0, bytes.length), key);
    }),
    { numRuns: 500 },
  );
});

t.test('half a surrogate pair comes back as it was', async (t) => {
  for (const text of ['\ud800', 'x\udfffy', '\udc00\ud800', `${'x'.repeat(70)}\ud801`]) {
    const bytes = encodeKey(['u', text]);
    t.strictSame(readKey(bytes, 0, bytes.length), ['u', text]);
  }
});

t.test('the largest keys that limits allow fit into the store', async (t) => {
  const widest = '\uffff'.repeat(255);
  t.ok(encodeKey(['u'.repeat(26), widest]).length <= keyBytesMax);
  t.ok(encodeKey(['u'.repeat(26), 'p'.repeat(64), widest, widest]).length <= keyBytesMax);
});

t.test('both zeros are one key', async (t) => {
  t.strictSame(encodeKey(-0), encodeKey(0));
});
