/** Parts that many schemas share, as JSON Schema 2020-12 writes them. */
import Type, { type Static, type TSchema, type TUnsafe } from 'typebox';

export function oneOf<T extends string>(values: readonly T[]): TUnsafe<T> {
  return Type.Unsafe<T>({ type: 'string', enum: [...values] });
}

export function orNull<S extends TSchema>(schema: S): TUnsafe<Static<S> | null> {
  return Type.Unsafe<Static<S> | null>({ anyOf: [schema, { type: 'null' }] });
}

/** A list that its owner may have frozen. */
export function listOf<S extends TSchema>(items: S): TUnsafe<readonly Static<S>[]> {
  return Type.Unsafe<readonly Static<S>[]>({ type: 'array', items });
}

export const textOrNull = orNull(Type.String());
export const numberOrNull = orNull(Type.Number());

/** ISO 8601 in UTC, as `toIsoTime` writes it. */
export const isoTime = Type.String({ format: 'date-time' });
export const isoTimeOrNull = orNull(isoTime);
