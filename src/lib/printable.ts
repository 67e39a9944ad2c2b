/** @returns the text for a line of a terminal: what could move the cursor, reorder or break the line is a `?`. */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '?');
}
