/**
 * Finds the top-level fields of a JSON body that its schema does not have. Such a field may be a misspelt one, so
 * it is refused, not ignored. The names that a client reads are bounded in number and in length.
 */
import { cutText } from './cut-text.js';
import { isObject } from './is-object.js';

export const unknownFieldsToldMax = 16;
export const fieldNameLengthMax = 64;

export interface UnknownField {
  /** The name, cut after `fieldNameLengthMax` characters with `…` in place of the rest. */
  readonly field: string;
  readonly code: 'unknown_field';
}

/** @returns the first unknown fields in the body's order; none for a body that is no object. */
export function unknownFields(
  body: unknown,
  schema: { readonly properties: object },
): UnknownField[] {
  if (!isObject(body)) return [];
  const unknown: UnknownField[] = [];
  for (const name of Object.keys(body)) {
    if (Object.hasOwn(schema.properties, name)) continue;
    unknown.push({ field: shown(name), code: 'unknown_field' });
    if (unknown.length === unknownFieldsToldMax) break;
  }
  return unknown;
}

function shown(name: string): string {
  return name.length > fieldNameLengthMax ? `${cutText(name, fieldNameLengthMax)}…` : name;
}
