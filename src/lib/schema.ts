/** Compiles the schemas by which everything from outside is judged; the one place that sets Ajv up. */
import { Ajv } from 'ajv';
import type { Static, TSchema } from 'typebox';

// Lengths count UTF-16 code units, as the specification's do; Ajv calls that option deprecated and
// would say so at each start. Without `allErrors`, a pattern never runs on a text that is too long.
const ajv = new Ajv({ strict: true, unicode: false, logger: false });

export function compileSchema<S extends TSchema>(
  schema: S,
): (value: unknown) => value is Static<S> {
  const validate = ajv.compile(schema);
  return (value): value is Static<S> => validate(value);
}
