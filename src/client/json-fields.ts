/** Reads fields of untrusted JSON; a missing or invalid one is undefined. */
export function field(json: unknown, name: string): unknown {
  return typeof json === 'object' && json !== null
    ? (json as Record<string, unknown>)[name]
    : undefined;
}

export function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

type Present<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

/** @returns the object without undefined fields (exactOptionalPropertyTypes). */
export function withoutUndefined<T extends object>(fields: T): Present<T> {
  const present = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(present) as Present<T>;
}
