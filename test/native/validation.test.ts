/** What ajv makes of TypeBox's schemas, as far as we rely on it: native-notes/validation.md. */
import { Ajv, type Options } from 'ajv';
import t from 'tap';
import Type, { type TSchema } from 'typebox';
import { compileSchema } from '../../src/lib/schema.js';

const compile = (schema: TSchema, options: Options = {}) =>
  new Ajv({ strict: true, unicode: false, logger: false, ...options }).compile(schema);
const parse = (text: string): unknown => JSON.parse(text);

t.test(
  'a schema with a keyword that ajv does not know is refused when it is compiled',
  async (t) => {
    t.throws(() => compile(Type.Unsafe({ type: 'string', maxLenght: 3 })), /unknown keyword/);
    t.throws(() => compileSchema(Type.Unsafe({ type: 'string', maxLenght: 3 })), /unknown keyword/);
  },
);

t.test('types that JSON does not have are refused when they are compiled', async (t) => {
  for (const type of [Type.BigInt(), Type.Undefined(), Type.Void()]) {
    t.throws(() => compile(Type.Object({ field: type })), /schema is invalid/);
  }
});

t.test(
  'lengths count UTF-16 units with unicode: false only, which warns when it may',
  async (t) => {
    const one = Type.String({ maxLength: 1 });
    t.equal(compileSchema(one)('\u{1f600}'), false);
    t.equal(compile(one, { unicode: true })('\u{1f600}'), true);
    const warnings: string[] = [];
    const log = (...words: unknown[]): void => void warnings.push(words.join(' '));
    compile(one, { logger: { log, warn: log, error: log } });
    t.match(warnings, [/DEPRECATED: option unicode/]);
    t.equal(compileSchema(one)('\ud800'), true, 'half a pair is a unit like any other');
  },
);

t.test('a pattern never sees a text that is too long, unless all errors are wanted', async (t) => {
  const seen: number[] = [];
  const regExp = Object.assign(
    () => ({
      test: (text: string) => {
        seen.push(text.length);
        return true;
      },
    }),
    { code: 'spy' },
  );
  const schema = Type.String({ maxLength: 3, pattern: '^a*$' });
  t.equal(compile(schema, { code: { regExp } })('aaaa'), false);
  t.strictSame(seen, []);
  t.equal(compile(schema, { allErrors: true, code: { regExp } })('aaaa'), false);
  t.strictSame(seen, [4]);
});

t.test('nothing is coerced, and no number is infinite or none', async (t) => {
  const isNumber = compileSchema(Type.Number());
  t.strictSame(['1', true, null, NaN, parse('1e400')].map(isNumber), Array(5).fill(false));
  const isInteger = compileSchema(Type.Integer());
  t.strictSame([1, parse('1.0'), parse('1e3')].map(isInteger), [true, true, true]);
  t.strictSame([1.5, '1'].map(isInteger), [false, false]);
});

t.test(
  'an object is neither null nor an array, and __proto__ in it is a plain member',
  async (t) => {
    const isObject = compileSchema(Type.Object({}));
    t.strictSame([null, [], 'x'].map(isObject), [false, false, false]);
    const hostile = parse('{"__proto__":{"polluted":1}}');
    t.equal(isObject(hostile), true);
    t.equal(({} as { polluted?: number }).polluted, undefined);
  },
);

t.test('a required field may be inherited: no field of ours has such a name', async (t) => {
  t.equal(compileSchema(Type.Object({ toString: Type.Unknown() }))({}), true);
});

t.test('errors belong to the last call: they are overwritten by the next', async (t) => {
  const validate = compile(Type.Object({ n: Type.Integer() }));
  t.equal(validate({}), false);
  t.match(validate.errors, [{ keyword: 'required', params: { missingProperty: 'n' } }]);
  t.equal(validate({ n: 1 }), true);
  t.equal(validate.errors, null);
});
