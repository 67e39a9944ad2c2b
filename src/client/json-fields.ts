/** Fields of JSON that somebody else wrote: what is not there, or is not right, is undefined. */
export function field(json: unknown, name: string): unknown {
  return typeof json === 'object' && json !== null
    ? (json as Record<string, unknown>)[name]
    : undefined;
}

export function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

type Present<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

/** For objects whose optional fields are absent rather than undefined. */
export function withoutUndefined<T extends object>(fields: T): Present<T> {
  const present = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(present) as Present<T>;
}
