/**
 * Converts the document to OpenAPI 3.0, for generators that do not read 3.1. What 3.0 cannot say is left out. Pure; the
 * table holds one rule for each keyword that differs.
 */
import type { OpenApiDocument } from './document.js';

type Schema = Readonly<Record<string, unknown>>;
/** @returns what stands in place of a keyword, from its value and the whole schema. */
type Rule = (value: unknown, schema: Schema, convert: Converter) => Schema;

const keywords: Readonly<Record<string, Rule>> = {
  type: (value) => (Array.isArray(value) ? typesOf(value as string[]) : typeOf(value as string)),
  const: (value) => ({ enum: [value] }),
  examples: (value) => ({ example: (value as unknown[])[0] }),
  exclusiveMinimum: (value) => ({ minimum: value, exclusiveMinimum: true }),
  exclusiveMaximum: (value) => ({ maximum: value, exclusiveMaximum: true }),
  if: () => ({}),
  then: () => ({}),
  else: () => ({}),
  properties: (value, _, convert) => ({ properties: convert.table(value as Schema) }),
  additionalProperties: (value, _, convert) => ({
    additionalProperties: typeof value === 'boolean' ? value : convert.schema(value as Schema),
  }),
  items: (value, _, convert) => ({ items: convert.schema(value as Schema) }),
  allOf: (value, _, convert) => {
    const allOf = convert.list(value).filter((schema) => Object.keys(schema).length > 0);
    return allOf.length === 0 ? {} : { allOf };
  },
  oneOf: (value, _, convert) => ({ oneOf: convert.list(value) }),
  anyOf: (value, _, convert) => convert.alternatives(value as Schema[]),
};

class Converter {
  /** @param schemas of the document, by name. */
  constructor(readonly schemas: Readonly<Record<string, unknown>>) {}

  schema({ $ref, ...rest }: Schema): Schema {
    const parts = Object.entries(rest).map(
      ([keyword, value]) => keywords[keyword]?.(value, rest, this) ?? { [keyword]: value },
    );
    const converted = Object.assign({}, ...parts) as Schema;
    if ($ref === undefined) return converted;
    // Beside a reference, 3.0 ignores all else.
    return parts.length === 0 ? { $ref } : { allOf: [{ $ref }], ...converted };
  }

  list(schemas: unknown): Schema[] {
    return (schemas as Schema[]).map((schema) => this.schema(schema));
  }

  table(schemas: Readonly<Record<string, unknown>>): Schema {
    return mapValues(schemas, (schema) => this.schema(schema as Schema));
  }

  /** In 3.0 null is not an alternative, but a property of the others. */
  alternatives(schemas: readonly Schema[]): Schema {
    const others = schemas.filter(({ type }) => type !== 'null');
    const anyOf = this.list(others);
    if (others.length === schemas.length) return { ...openEnum(schemas), anyOf };
    const nullable = anyOf.map((schema) => this.#nullable(schema));
    return nullable.length === 1 ? nullable[0]! : { anyOf: nullable };
  }

  #nullable(schema: Schema): Schema {
    const { $ref } = schema;
    if ($ref === undefined) return { ...schema, nullable: true };
    const name = ($ref as string).replace('#/components/schemas/', '');
    const { type = 'string' } = this.schemas[name] as Schema;
    return { type, nullable: true, allOf: [schema] };
  }
}

/** An enumeration of Go takes any text, so the generator for Go is told to use that of the known values. */
function openEnum([known, other, ...more]: readonly Schema[]): Schema {
  const name = /\/(Known\w+)$/.exec((known?.['$ref'] ?? '') as string)?.[1];
  const isOpenEnum = name !== undefined && other?.['type'] === 'string' && more.length === 0;
  return isOpenEnum ? { type: 'string', 'x-go-type': name } : {};
}

/** Without a format, numbers have 32 bits in some languages. */
const formats: Readonly<Record<string, string>> = { number: 'double', integer: 'int64' };

function typeOf(type: string): Schema {
  return { type, ...(formats[type] !== undefined && { format: formats[type] }) };
}

function typesOf(types: readonly string[]): Schema {
  const nullable = types.includes('null') && { nullable: true };
  const others = types.filter((type) => type !== 'null');
  if (others.length === 1) return { ...typeOf(others[0]!), ...nullable };
  return { anyOf: others.map((type) => ({ ...typeOf(type), ...nullable })) };
}

function mapValues(table: Schema, convert: (value: unknown) => unknown): Schema {
  return Object.fromEntries(Object.entries(table).map(([key, value]) => [key, convert(value)]));
}

/** Outside of the schemas two fields of `info` differ, and the scopes, which the descriptions name, too, are left out. */
export function toOpenApi30(document: OpenApiDocument): Schema {
  const { info, components, ...rest } = document;
  const { schemas = {}, ...others } = components;
  const converter = new Converter(schemas);
  const { license, ...told } = info as Schema & { license: Schema };
  const said = Object.fromEntries(Object.entries(told).filter(([field]) => field !== 'summary'));
  return {
    ...(converted(rest, converter) as Schema),
    openapi: '3.0.3',
    info: { ...said, license: { name: license['name'], url: licenseUrl } },
    components: {
      ...(converted(others, converter) as Schema),
      schemas: converter.table(schemas),
    },
  };
}

const licenseUrl = 'https://www.apache.org/licenses/LICENSE-2.0';

const fields: Readonly<Record<string, (value: unknown, converter: Converter) => unknown>> = {
  schema: (value, converter) => converter.schema(value as Schema),
  // In 3.0 only OAuth 2 has scopes; those of another scheme make the document invalid.
  security: (value) => (value as Schema[]).map((schemes) => mapValues(schemes, () => [])),
};

/** Converts the value of each of the `fields`, at any depth. */
function converted(value: unknown, converter: Converter): unknown {
  if (Array.isArray(value)) return value.map((item) => converted(item, converter));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, part]) => [
      key,
      fields[key]?.(part, converter) ?? converted(part, converter),
    ]),
  );
}
