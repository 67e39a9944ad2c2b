/** Cuts a list into slices of at most `length`, for work that lets other work in between. */
export function* slicesOf<T>(list: readonly T[], length: number): Generator<T[], void, void> {
  for (let at = 0; at < list.length; at += length) yield list.slice(at, at + length);
}
