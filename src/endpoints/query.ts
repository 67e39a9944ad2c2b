/** Reads the parameters of a query string. */

/**
 * @returns each of the `names` that the query has: its value, or null where it occurs more than once. Others are
 * in `unknown`.
 */
export function readQuery<N extends string>(
  query: string,
  names: readonly N[],
): { readonly [name in N]?: string | null } & { readonly unknown: readonly string[] } {
  const parameters = new URLSearchParams(query);
  const unknown = [...new Set(parameters.keys())].filter(
    (name) => !(names as readonly string[]).includes(name),
  );
  const known: { [name in N]?: string | null } = {};
  for (const name of names) {
    const values = parameters.getAll(name);
    if (values.length > 0) known[name] = values.length === 1 ? (values[0] ?? null) : null;
  }
  return { ...known, unknown };
}

/** @returns undefined unless the text is a whole number within the bounds, as JSON would write it. */
export function readInteger(text: string, min: number, max: number): number | undefined {
  if (!/^(?:0|[1-9][0-9]{0,15})$/.test(text)) return undefined;
  const value = Number(text);
  return value >= min && value <= max ? value : undefined;
}
