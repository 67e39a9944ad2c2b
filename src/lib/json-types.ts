/** Parts that many schemas share, in JSON Schema 2020-12. */
import Type, { type Static, type TSchema, type TUnsafe } from 'typebox';

export function oneOf<T extends string>(values: readonly T[]): TUnsafe<T> {
  return Type.Unsafe<T>({ type: 'string', enum: [...values] });
}

/** Any text: the known values come first, and more may be added. */
export type OpenEnum<T extends string> = TUnsafe<T> & {
  readonly anyOf: readonly [TUnsafe<T>, TSchema];
};

/**
 * An enumeration in answers, to which values may be added: a client that is generated from it accepts others, too.
 * The gateway itself writes only known values, hence the static type.
 */
export function openEnum<T extends string>(known: TUnsafe<T>, description: string): OpenEnum<T> {
  const anyOf = [known, { type: 'string' }] as const;
  return Type.Unsafe<T>({ anyOf, description: `${description} More may be added.` }) as OpenEnum<T>;
}

/** Keeps an object's schema as the same value, by which the document names it. */
export function orNull<S extends TSchema>(schema: S): TUnsafe<Static<S> | null> {
  const { type } = schema as { readonly type?: string };
  return Type.Unsafe<Static<S> | null>(
    type === undefined || type === 'object'
      ? { anyOf: [schema, { type: 'null' }] }
      : { ...schema, type: [type, 'null'] },
  );
}

/** The same with a description of its own. */
export function described<S extends TSchema>(schema: S, description: string): S {
  return { ...schema, description };
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
