/**
 * Converts schemas to the plain JSON of a document, with a `$ref` for each named schema that occurs in
 * another one.
 */
import type { SchemaName } from './schemas.js';

export class References {
  readonly #names: ReadonlyMap<unknown, string>;

  constructor(readonly schemas: Readonly<Record<SchemaName, object>>) {
    this.#names = new Map(Object.entries(schemas).map(([name, schema]) => [schema, name]));
  }

  static to(name: SchemaName): { readonly $ref: string } {
    return { $ref: `#/components/schemas/${name}` };
  }

  /** Every named schema in full, with references to the others. */
  components(): Record<string, unknown> {
    return Object.fromEntries(
      Object.entries(this.schemas).map(([name, schema]) => [name, this.#contentOf(schema)]),
    );
  }

  #plain(value: unknown): unknown {
    const name = this.#names.get(value);
    if (name !== undefined) return References.to(name as SchemaName);
    return this.#contentOf(value);
  }

  #contentOf(value: unknown): unknown {
    if (Array.isArray(value)) return value.map((item) => this.#plain(item));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, this.#plain(part)]));
  }
}
