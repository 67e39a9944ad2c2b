/**
 * Builds JSON Schemas that have a static type: `Static<typeof schema>` is the type of the values that the schema
 * takes. Has the part of TypeBox that the gateway uses, under TypeBox's names: to load all of TypeBox took
 * each process, down to the shortest command, a quarter of a second.
 */

declare const valueType: unique symbol;

/** Marks the schema of a field that may be absent. ajv and JSON see no symbols. */
const mayLack = Symbol('optional');

/** A schema for values of the type T, which is known to the compiler only. */
export interface Schema<T = unknown> {
  readonly [valueType]?: T;
}

export type Static<S> = S extends Schema<infer T> ? T : never;

export interface Optional {
  readonly [mayLack]: true;
}

type Fields = Readonly<Record<string, Schema>>;
type OptionalName<F> = { [N in keyof F]: F[N] extends Optional ? N : never }[keyof F];
type Flat<T> = { [K in keyof T]: T[K] };
type ValueOf<F> = Flat<
  { -readonly [N in Exclude<keyof F, OptionalName<F>>]: Static<F[N]> } & {
    -readonly [N in OptionalName<F>]?: Static<F[N]>;
  }
>;

export interface ArraySchema<S extends Schema> extends Schema<Static<S>[]> {
  readonly type: 'array';
  readonly items: S;
}

export interface ObjectSchema<F extends Fields> extends Schema<ValueOf<F>> {
  readonly type: 'object';
  readonly required?: readonly string[];
  readonly properties: F;
}

/** What JSON Schema says of any value, or of those of one type. ajv refuses a keyword that it does not know. */
interface Options {
  readonly description?: string;
  readonly examples?: readonly unknown[];
  readonly default?: unknown;
  readonly format?: string;
  readonly allOf?: readonly object[];
}
interface TextOptions extends Options {
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
}
interface NumberOptions extends Options {
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
}
interface ArrayOptions extends Options {
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly uniqueItems?: boolean;
}
interface ObjectOptions extends Options {
  readonly additionalProperties?: boolean;
}

export const Type = {
  String: (options?: TextOptions) => typed<string>({ type: 'string', ...options }),
  Number: (options?: NumberOptions) => typed<number>({ type: 'number', ...options }),
  Integer: (options?: NumberOptions) => typed<number>({ type: 'integer', ...options }),
  Boolean: (options?: Options) => typed<boolean>({ type: 'boolean', ...options }),
  Literal: <const T extends string | number | boolean>(value: T, options?: Options) =>
    typed<T>({ type: typeof value, const: value, ...options }),
  Array: <S extends Schema>(items: S, options?: ArrayOptions): ArraySchema<S> => ({
    type: 'array',
    items,
    ...options,
  }),
  Union: <S extends Schema>(anyOf: readonly S[]) => typed<Static<S>>({ anyOf }),
  Object: <F extends Fields>(properties: F, options?: ObjectOptions): ObjectSchema<F> => {
    const isRequired = ([, schema]: [string, Schema]): boolean => !(mayLack in schema);
    const required = Object.entries(properties)
      .filter(isRequired)
      .map(([name]) => name);
    return {
      type: 'object',
      ...(required.length > 0 ? { required } : {}),
      properties,
      ...options,
    };
  },
  Optional: <S extends Schema>(schema: S): S & Optional => ({ ...schema, [mayLack]: true }),
  /** An object of the same fields, each of which may be absent. */
  Partial: <F extends Fields>({ properties }: ObjectSchema<F>) => {
    const fields = Object.entries(properties).map(([name, schema]) => [
      name,
      Type.Optional(schema),
    ]);
    return Type.Object(Object.fromEntries(fields) as { [N in keyof F]: F[N] & Optional });
  },
  /** Any schema. Nothing checks that it takes values of the type T and no others. */
  Unsafe: typed,
} as const;

function typed<T>(schema: object): Schema<T> {
  return schema;
}
