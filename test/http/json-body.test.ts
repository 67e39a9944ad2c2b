import t from 'tap';
import { parseJson } from '../../src/http/json-body.js';
import { Outline } from '../../src/lib/json-outline.js';

const outline = new Outline([], 16);

const parse = (text: string, depthMax = 16) =>
  parseJson(Buffer.from(text), depthMax, outline)?.value;

t.test('JSON of any kind is read, with white space around it', async (t) => {
  t.same(parse(' {"a":[1,"ü"]}\r\n'), { a: [1, 'ü'] });
  t.equal(parse('7'), 7);
  t.equal(parseJson(Buffer.from('null'), 16, outline)?.value, null);
});

t.test('what is no strict JSON is refused', async (t) => {
  for (const text of ['', ' ', '{', "{'a':1}", '{"a":1,}', '[1] 2', '\ufeff{}', 'undefined']) {
    t.equal(parseJson(Buffer.from(text), 16, outline), undefined, JSON.stringify(text));
  }
});

t.test('bytes that are no UTF-8 are refused', async (t) => {
  t.equal(parseJson(Uint8Array.from([0x22, 0xff, 0x22]), 16, outline), undefined);
  t.equal(parseJson(Uint8Array.from([0x22, 0xed, 0xa0, 0x80, 0x22]), 16, outline), undefined);
});

t.test('bytes that are no UTF-8 are refused wherever they are', async (t) => {
  const body = (byte: number) => [
    ...Buffer.from(`{"a":"${'x'.repeat(2_000)}","b":[[{"c":"`),
    byte,
    ...Buffer.from('"}]]}'),
  ];
  const shallow = new Outline([], 1);
  t.ok(parseJson(Uint8Array.from(body(0x78)), 16, shallow));
  t.equal(parseJson(Uint8Array.from(body(0xff)), 16, shallow), undefined);
});

t.test('it may be nested as deep as the limit says, and no deeper', async (t) => {
  const nested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`;
  t.same(parse(nested(3), 3), [[[]]]);
  t.equal(parse(nested(4), 3), undefined);
});

t.test('a member’s text is what the body has of it, whatever stands before it', async (t) => {
  const textOf = (body: string) => parseJson(Buffer.from(body), 16, outline, 'payload')?.memberText;
  const payload = '{"quantity":1.50,"side" : "buy"}';
  t.equal(textOf(`{"v":1,"payload": ${payload} }`), payload);
  t.equal(textOf(`{"signalId":"ü€😀","payload": ${payload}\r\n,"v":1}`), payload);
  t.equal(textOf('{"v":1}'), '');
});
