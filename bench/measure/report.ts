/** The rows that a bench gives, judged against their aims, and as the table that people read. */
import { summarize, type Summary } from './statistics.js';

export interface Row {
  readonly bench: string;
  readonly figure: string;
  readonly unit: string;
  readonly ours: Summary;
  readonly other: Summary | undefined;
  readonly otherName: string;
  /** Ours by the other side's, of the medians. */
  readonly ratio: number | undefined;
  readonly aim: string;
  /** Undefined where there is no aim, or where the figure cannot be trusted to judge by. */
  readonly met: boolean | undefined;
  readonly note?: string;
}

export interface Aim {
  readonly is: 'at least' | 'at most' | 'exactly';
  /** Of what: the ratio to the other side, or every sample of ours as it stands. */
  readonly of: 'ratio' | 'value';
  readonly bound: number;
}

export interface RowInput {
  readonly bench: string;
  readonly figure: string;
  readonly unit: string;
  readonly ours: readonly number[];
  readonly other?: readonly number[];
  readonly otherName?: string;
  readonly aim?: Aim;
  /** Why the figure must not be judged, such as that the generator was the limit. */
  readonly doubt?: string | undefined;
  readonly note?: string | undefined;
}

export function toRow(input: RowInput): Row {
  const { bench, figure, unit, aim, doubt } = input;
  const ours = summarize(input.ours);
  const other = input.other === undefined ? undefined : summarize(input.other);
  const ratio = other === undefined ? undefined : ours.median / other.median;
  const note = [doubt, input.note].filter((text) => text !== undefined).join('; ');
  return {
    bench,
    figure,
    unit,
    ours,
    other,
    otherName: input.otherName ?? '',
    ratio,
    aim: aim === undefined ? '' : aimText(aim, unit),
    met: aim === undefined || doubt !== undefined ? undefined : isMet(aim, ours, ratio),
    ...(note === '' ? {} : { note }),
  };
}

function aimText({ is, of, bound }: Aim, unit: string): string {
  const sign = { 'at least': '≥', 'at most': '≤', exactly: '=' }[is];
  return of === 'ratio' ? `${sign} ${bound}×` : `${sign} ${bound} ${unit}`.trimEnd();
}

function isMet({ is, of, bound }: Aim, ours: Summary, ratio: number | undefined): boolean {
  const values = of === 'value' ? ours.samples : [ratio];
  return values.every((value) => {
    if (value === undefined) throw new Error('an aim for a ratio needs the other side');
    return (is === 'at most' || value >= bound) && (is === 'at least' || value <= bound);
  });
}

const columns: readonly { readonly title: string; readonly cell: (row: Row) => string }[] = [
  { title: 'bench', cell: (row) => row.bench },
  { title: 'figure', cell: (row) => row.figure },
  { title: 'unit', cell: (row) => row.unit },
  { title: 'ours (min–max)', cell: (row) => summaryText(row.ours) },
  { title: 'other side (min–max)', cell: otherText },
  { title: 'ratio', cell: (row) => (row.ratio === undefined ? '' : row.ratio.toFixed(2)) },
  { title: 'aim', cell: (row) => row.aim },
  { title: 'met', cell: (row) => (row.met === undefined ? '' : row.met ? 'yes' : 'NO') },
];

/** A table in plain text; notes stand below it, numbered. */
export function toTable(rows: readonly Row[]): string {
  const notes: string[] = [];
  const cells = rows.map((row) => {
    const line = columns.map(({ cell }) => cell(row));
    if (row.note !== undefined) line.push(`[${notes.push(row.note)}]`);
    return line;
  });
  const titles = columns.map(({ title }) => title);
  const widths = titles.map((title, column) =>
    Math.max(title.length, ...cells.map((line) => (line[column] as string).length)),
  );
  const ruled = widths.map((width) => '─'.repeat(width));
  const lines = [titles, ruled, ...cells].map((line) =>
    line
      .map((text, column) => text.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
  return [...lines, ...notes.map((note, index) => `[${index + 1}] ${note}`)].join('\n');
}

function otherText(row: Row): string {
  return row.other === undefined
    ? row.otherName
    : `${row.otherName} ${summaryText(row.other)}`.trimStart();
}

function summaryText({ median, min, max, samples }: Summary): string {
  if (samples.length === 1) return numberText(median);
  return `${numberText(median)} (${numberText(min)}–${numberText(max)})`;
}

function numberText(value: number): string {
  const size = Math.abs(value);
  if (Number.isInteger(value) || size >= 100) return Math.round(value).toLocaleString('en-US');
  return value.toFixed(size >= 10 ? 1 : size >= 0.1 ? 2 : 3);
}
