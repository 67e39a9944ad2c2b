/** Parts that many schemas share, in JSON Schema 2020-12. */
import Type, { type Static, type TSchema, type TUnsafe } from 'typebox';

export function oneOf<T extends string>(values: readonly T[]): TUnsafe<T> {
  return Type.Unsafe<T>({ type: 'string', enum: [...values] });
}

export function orNull<S extends TSchema>(schema: S): TUnsafe<Static<S> | null> {
  return Type.Unsafe<Static<S> | null>({ anyOf: [schema, { type: 'null' }] });
}

/** An array whose static type is readonly. */
export function listOf<S extends TSchema>(items: S): TUnsafe<readonly Static<S>[]> {
  return Type.Unsafe<readonly Static<S>[]>({ type: 'array', items });
}

export const textOrNull = orNull(Type.String());
export const numberOrNull = orNull(Type.Number());

/** ISO 8601 in UTC, as `toIsoTime` formats it. */
export const isoTime = Type.String({ format: 'date-time' });
export const isoTimeOrNull = orNull(isoTime);
