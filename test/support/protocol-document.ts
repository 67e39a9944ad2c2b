/** The documents of the plugin protocol, read as data: their tables, and the protocol's transcript. */
import { readFileSync } from 'node:fs';

/** The tests run from the build; the documents stay with the sources. */
const folder = new URL('../../../src/plugins/', import.meta.url);

export interface Section {
  readonly text: string;
  /** Cells of all tables, row by row, without the heads. */
  readonly rows: readonly (readonly string[])[];
  readonly transcript: readonly string[];
}

class ProtocolDocument {
  readonly #lines: readonly string[];

  constructor(text: string) {
    this.#lines = text.split('\n');
  }

  /** From the heading to the next one of its rank or above. `within`: below this heading. */
  section(title: string, within?: string): Section {
    const from = within === undefined ? 0 : this.#placeOf(within, 0);
    const start = this.#placeOf(title, from);
    const rank = rankOf(this.#lines[start] as string);
    const length = this.#lines.slice(start + 1).findIndex((line) => {
      const other = rankOf(line);
      return other > 0 && other <= rank;
    });
    const lines = this.#lines.slice(start + 1, length < 0 ? undefined : start + 1 + length);
    return {
      text: lines.join('\n'),
      rows: rowsOf(lines),
      transcript: lines.filter((line) => /^[$<>] /.test(line)),
    };
  }

  /** The frames that have a heading of their own below this one. */
  readonly frames = (title: string): string[] =>
    [...this.section(title).text.matchAll(/^#### (\S+)$/gm)].map(([, name]) => name as string);

  /** Of this rank, as far as they match, in the order of the document. */
  headings(rank: number, pattern: RegExp): string[] {
    return this.#lines
      .filter((line) => rankOf(line) === rank && pattern.test(line))
      .map((line) => line.slice(rank + 1));
  }

  #placeOf(title: string, from: number): number {
    const place = this.#lines.findIndex(
      (line, index) => index >= from && /^#+ /.test(line) && line.replace(/^#+ /, '') === title,
    );
    if (place < 0) throw new Error(`The document has no heading "${title}"`);
    return place;
  }
}

function rankOf(line: string): number {
  return /^(#+) /.exec(line)?.[1]?.length ?? 0;
}

function rowsOf(lines: readonly string[]): string[][] {
  return lines.flatMap((line, index) => {
    const isHead = /^\| -/.test(lines[index + 1] ?? '');
    if (!line.startsWith('|') || /^\| -/.test(line) || isHead) return [];
    return [
      line
        .slice(1, -1)
        .split('|')
        .map((cell) => cell.trim()),
    ];
  });
}

/** The names in backticks of a cell. */
export function namesIn(cell = ''): string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, name]) => name as string);
}

export function readDocument(name: string): ProtocolDocument {
  return new ProtocolDocument(readFileSync(new URL(name, folder), 'utf8'));
}

export const protocolDocument = readDocument('PROTOCOL.md');
