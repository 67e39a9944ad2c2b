/** Text in aligned columns, for terminals. */

/**
 * Two spaces between columns, none at the end of a line. Control characters are shown as `?`: names
 * come from users, and must not be able to write to the operator's terminal.
 */
export function columns(rows: readonly (readonly string[])[]): string {
  const clean = rows.map((row) => row.map((cell) => cell.replace(/[\p{Cc}\p{Cf}]/gu, '?')));
  const widths: number[] = [];
  for (const row of clean) {
    row.forEach((cell, index) => (widths[index] = Math.max(widths[index] ?? 0, cell.length)));
  }
  return clean
    .map((row) =>
      row
        .map((cell, index) => cell.padEnd(widths[index] as number))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
