import t from 'tap';
import { compileSchema } from '../../src/lib/schema.js';
import { type Schema, type Static, Type } from '../../src/lib/type.js';

const order = Type.Object(
  {
    side: Type.Literal('buy'),
    quantity: Type.Optional(Type.Number({ minimum: 0 })),
    fills: Type.Array(Type.Object({ price: Type.Integer() })),
    code: Type.Optional(Type.Union([Type.String(), Type.Boolean()])),
  },
  { additionalProperties: false },
);

const text = Type.Unsafe<string | null>({ type: 'string', nullable: true });
const partial = Type.Partial(Type.Object({ a: text, b: Type.Literal(1) }));

interface Order {
  side: 'buy';
  quantity?: number;
  fills: { price: number }[];
  code?: string | boolean;
}

t.test('the static type is that of the values which the schema takes', async (t) => {
  // The compiler judges: each of the two types is assigned to the other.
  const written: Order = { side: 'buy', fills: [{ price: 1 }], code: true };
  const taken: Static<typeof order> = written;
  const read: Order = taken;
  t.equal(compileSchema(order)(read), true);
  const none: { a?: string | null; b?: 1 } = {};
  const nothing: Static<typeof partial> = none;
  t.equal(compileSchema(partial)(nothing), true);
});

t.test('a schema is plain JSON Schema', async (t) => {
  t.equal(
    JSON.stringify(order),
    JSON.stringify({
      type: 'object',
      required: ['side', 'fills'],
      properties: {
        side: { type: 'string', const: 'buy' },
        quantity: { type: 'number', minimum: 0 },
        fills: {
          type: 'array',
          items: {
            type: 'object',
            required: ['price'],
            properties: { price: { type: 'integer' } },
          },
        },
        code: { anyOf: [{ type: 'string' }, { type: 'boolean' }] },
      },
      additionalProperties: false,
    }),
  );
});

t.test('a field that is optional may be absent, and then only', async (t) => {
  const isOrder = compileSchema(order);
  t.equal(isOrder({ side: 'buy', fills: [] }), true);
  t.equal(isOrder({ side: 'buy', fills: [], quantity: undefined }), true);
  t.equal(isOrder({ side: 'buy', fills: [], quantity: null }), false);
  t.equal(isOrder({ side: 'buy' }), false);
  t.equal(isOrder({ fills: [] }), false);
});

t.test('an object of optional fields requires none', async (t) => {
  t.equal('required' in partial, false);
  const isPartial = compileSchema(partial);
  t.equal(isPartial({}), true);
  t.equal(isPartial({ a: null, b: 1 }), true);
  t.equal(isPartial({ b: 2 }), false);
});

t.test('a schema is optional in one object without being so in another', async (t) => {
  const name: Schema<string> = Type.String();
  const required = (schema: { readonly required?: readonly string[] }) => schema.required;
  t.equal(required(Type.Object({ name: Type.Optional(name) })), undefined);
  t.strictSame(required(Type.Object({ name })), ['name']);
});
