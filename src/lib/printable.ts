/** @returns the text for a line of a terminal: `?` replaces what could move the cursor, reorder or break the line. */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '?');
}
