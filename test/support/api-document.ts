/**
 * The API's document as the tests hold values against it: with the shipped limits, and closed, so that
 * a field that it does not name is a mismatch although clients must bear it.
 */
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { createOpenApiDocument } from '../../src/openapi/document.js';
import { shippedPlatforms } from '../../src/platforms.js';
import { shippedLimits } from './shipped-limits.js';

export const apiDocument = createOpenApiDocument({
  limits: shippedLimits(),
  platforms: shippedPlatforms,
  version: '0.0.0',
});

// test/openapi judges whether the document itself is right.
const options = { strict: false, validateSchema: false, meta: false } as const;
const ajv = new Ajv2020({ ...options, allErrors: true, unicode: false, logger: false });
ajv.addFormat('date-time', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
ajv.addFormat('uri-reference', /^[!-~]*$/);
ajv.addSchema({ $id: 'api:closed', ...(closed(withKnownValues(apiDocument)) as object) });
// Of what is sent only envelopes and the user's bodies are closed, as the document says.
ajv.addSchema({ $id: 'api:open', ...apiDocument });

const validators = new Map<string, ValidateFunction>();

/** @returns what is wrong with the value, or undefined. `what` names it. */
export function mismatchOfValue(
  schema: object,
  value: unknown,
  what: string,
  id = 'api:closed',
): string | undefined {
  const key = JSON.stringify(schema).replaceAll('"#/', `"${id}#/`);
  let validate = validators.get(key);
  if (validate === undefined) {
    validate = ajv.compile(JSON.parse(key) as object);
    validators.set(key, validate);
  }
  if (validate(value)) return undefined;
  const errors = ajv.errorsText(validate.errors, { dataVar: what });
  return `${errors}: ${JSON.stringify(value)}`;
}

/** Open enumerations take their known values and nothing else. */
export function withKnownValues(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withKnownValues);
  if (typeof value !== 'object' || value === null) return value;
  const [known] = 'anyOf' in value ? (value.anyOf as { $ref?: string }[]) : [];
  if (known?.$ref?.includes('/Known') === true) return known;
  const parts = Object.entries(value).map(([key, part]) => [key, withKnownValues(part)]);
  return Object.fromEntries(parts);
}

/** Every object schema takes what it names and nothing else, unless it says so itself. */
function closed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(closed);
  if (typeof value !== 'object' || value === null) return value;
  const parts = Object.fromEntries(Object.entries(value).map(([key, part]) => [key, closed(part)]));
  const isShape = parts['type'] === 'object' && 'properties' in parts;
  return isShape ? { additionalProperties: false, ...parts } : parts;
}
