/** Tables that are made from the code and stand in a page between `<!-- name -->` and `<!-- end -->`. */

/** Tables by the name that stands in the page's marks. */
export type PageTables = Readonly<Record<string, string>>;

/** The page with every table between its marks replaced; throws when a mark is missing. */
export function withTables(page: string, tables: PageTables): string {
  return Object.entries(tables).reduce((text, [name, rows]) => {
    const between = new RegExp(`(<!-- ${name} -->\\n)[\\s\\S]*?(<!-- end -->)`);
    if (!between.test(text)) throw new Error(`the page has no place for the table "${name}"`);
    return text.replace(
      between,
      (_all, start: string, end: string) => `${start}\n${rows}\n\n${end}`,
    );
  }, page);
}

export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [head, head.map(() => '---'), ...rows];
  return lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}
