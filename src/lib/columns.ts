/** Text in aligned columns, for terminals. */
import { printable } from './printable.js';

/**
 * Two spaces between columns, none at the end of a line. Names come from users, and must not be able to write to the
 * operator's terminal.
 */
export function columns(rows: readonly (readonly string[])[]): string {
  const clean = rows.map((row) => row.map((cell) => printable(cell)));
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
