/** Compiles the schemas that validate external input. The only module that configures Ajv. */
import { Ajv } from 'ajv';
import type { Static, TSchema } from 'typebox';

// `unicode: false` counts UTF-16 code units, as the specification does; `logger: false` suppresses Ajv's
// deprecation warning for it. Without `allErrors`, a pattern never runs on a text above its maxLength. A test
// validates the schemas; each process would take nearly twice as long to compile them if it did so, too. Ajv's
// optimized code is no faster, and takes half as long again to compile.
const ajv = new Ajv({
  strict: true,
  // oxlint-disable-next-line typescript/no-deprecated
  unicode: false,
  logger: false,
  validateSchema: false,
  code: { optimize: false },
});

export function compileSchema<S extends TSchema>(
  schema: S,
): (value: unknown) => value is Static<S> {
  const validate = ajv.compile(schema);
  return (value): value is Static<S> => validate(value);
}

/** @returns the path of the first field that is missing or wrong, such as `fill.price`; undefined when none is. */
export function faultyField(schema: TSchema, value: unknown): string | undefined {
  const validate = ajv.compile(schema);
  if (validate(value)) return undefined;
  const [fault] = validate.errors ?? [];
  const { missingProperty } = (fault?.params ?? {}) as { readonly missingProperty?: string };
  const path = fault?.instancePath.split('/').slice(1) ?? [];
  return (missingProperty === undefined ? path : [...path, missingProperty]).join('.');
}

/**
 * Validators by name. Each schema is compiled at its first use, since a process uses few of them.
 * @returns a function that says whether the value is valid; undefined for a name without a schema.
 */
export function compileSchemas(
  schemas: Readonly<Record<string, TSchema>>,
): (name: string, value: unknown) => boolean | undefined {
  const validators = new Map<string, (value: unknown) => boolean>();
  return (name, value) => {
    let validate = validators.get(name);
    if (validate === undefined) {
      if (!Object.hasOwn(schemas, name)) return undefined;
      validate = compileSchema(schemas[name] as TSchema);
      validators.set(name, validate);
    }
    return validate(value);
  };
}
