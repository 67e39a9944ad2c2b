import t from 'tap';
import type { OpenApiDocument } from '../../src/openapi/document.js';
import { toOpenApi30 } from '../../src/openapi/three-zero.js';
import { routes } from '../../src/routes.js';
import { apiDocument } from '../support/api-document.js';

const others = {
  Shape: { type: 'object' },
  Known: { type: 'string', enum: ['a'] },
  KnownState: { type: 'string', enum: ['a'] },
  State: { anyOf: [{ $ref: '#/components/schemas/KnownState' }, { type: 'string' }] },
};
const to = (name: string) => ({ $ref: `#/components/schemas/${name}` });

function convert(schema: object): any {
  const document = {
    openapi: '3.1.0',
    info: { title: 'x', summary: 'y', license: { name: 'z', identifier: 'Z' } },
    paths: { '/': { get: { parameters: [{ schema }] } } },
    components: { headers: { H: { schema } }, schemas: { ...others, Schema: schema } },
  } as OpenApiDocument;
  const { components, paths } = toOpenApi30(document) as any;
  t.same(paths['/'].get.parameters[0].schema, components.schemas.Schema);
  t.same(components.headers.H.schema, components.schemas.Schema);
  return components.schemas.Schema;
}

const text = { type: 'string' };
const table: readonly [what: string, in31: object, in30: object][] = [
  ['what 3.0 knows stays', { type: 'string', minLength: 1 }, { type: 'string', minLength: 1 }],
  ['a constant is its only value', { type: 'string', const: 'a' }, { type: 'string', enum: ['a'] }],
  ['one example', { ...text, examples: ['a', 'b'] }, { ...text, example: 'a' }],
  [
    'bounds that are not included',
    { type: 'number', exclusiveMinimum: 0, exclusiveMaximum: 9 },
    {
      ...{ type: 'number', format: 'double', minimum: 0, exclusiveMinimum: true },
      ...{ maximum: 9, exclusiveMaximum: true },
    },
  ],
  ['integers are of 64 bits', { type: 'integer' }, { type: 'integer', format: 'int64' }],
  ['null of a type', { type: ['string', 'null'] }, { type: 'string', nullable: true }],
  [
    'several types',
    { type: ['string', 'number', 'null'] },
    {
      anyOf: [
        { type: 'string', nullable: true },
        { type: 'number', format: 'double', nullable: true },
      ],
    },
  ],
  [
    'null of a shape',
    { anyOf: [to('Shape'), { type: 'null' }] },
    { type: 'object', nullable: true, allOf: [to('Shape')] },
  ],
  [
    'null of an open enumeration',
    { anyOf: [to('State'), { type: 'null' }], description: 'd' },
    { type: 'string', nullable: true, allOf: [to('State')], description: 'd' },
  ],
  [
    'null of one of two',
    { anyOf: [text, { type: 'boolean' }, { type: 'null' }] },
    {
      anyOf: [
        { ...text, nullable: true },
        { type: 'boolean', nullable: true },
      ],
    },
  ],
  [
    'an open enumeration, whose Go type is that of the known values',
    { anyOf: [to('KnownState'), text] },
    { type: 'string', 'x-go-type': 'KnownState', anyOf: [to('KnownState'), text] },
  ],
  ['other alternatives', { anyOf: [to('Shape'), text] }, { anyOf: [to('Shape'), text] }],
  [
    'conditions are left out',
    { type: 'object', allOf: [{ if: { required: ['a'] }, then: { required: ['b'] }, else: {} }] },
    { type: 'object' },
  ],
  [
    'what is beside a reference',
    { ...to('Shape'), default: 'a' },
    { allOf: [to('Shape')], default: 'a' },
  ],
  ['a reference alone', to('Shape'), to('Shape')],
  [
    'parts of parts',
    {
      type: 'object',
      properties: { const: { type: 'array', items: { const: 1 } } },
      additionalProperties: { const: 2 },
      allOf: [{ const: 3 }],
      oneOf: [{ const: 4 }],
    },
    {
      type: 'object',
      properties: { const: { type: 'array', items: { enum: [1] } } },
      additionalProperties: { enum: [2] },
      allOf: [{ enum: [3] }],
      oneOf: [{ enum: [4] }],
    },
  ],
  ['a closed shape', { additionalProperties: false }, { additionalProperties: false }],
];

for (const [what, in31, in30] of table) {
  t.test(what, async (t) => {
    t.strictSame(convert(in31), in30);
  });
}

t.test('the license is named by its address, and there is no summary', async (t) => {
  const { openapi, info } = toOpenApi30(apiDocument) as any;
  t.equal(openapi, '3.0.3');
  t.same(Object.keys(info.license), ['name', 'url']);
  t.notOk('summary' in info);
});

t.test('no scope stands at a scheme that has none in 3.0, but in the description', async (t) => {
  const { paths } = toOpenApi30(apiDocument) as any;
  for (const { path, method, credential, scope } of routes) {
    const operation = paths[path.replace(/:(\w+)/g, '{$1}')][method.toLowerCase()];
    t.same(operation.security, credential === 'none' ? [] : [{ [credential]: [] }]);
    if (scope !== null) t.match(operation.description, `Scope: \`${scope}\`.`);
  }
});

t.test('paths, parameters and examples are those of 3.1', async (t) => {
  const converted = toOpenApi30(apiDocument) as any;
  t.same(Object.keys(converted.paths), Object.keys(apiDocument.paths));
  t.same(
    Object.keys(converted.components.schemas),
    Object.keys(apiDocument.components['schemas']!),
  );
  const examples = (document: object): string[] =>
    JSON.stringify(document).match(/"examples":\{.*?"traceId"/g) ?? [];
  t.same(examples(converted), examples(apiDocument));
});
