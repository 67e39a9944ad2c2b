/** native-notes/ and test/native/ agree: every test that the notes name exists, and every test is named. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';

/** The repository, seen from build/test/native. */
const root = join(import.meta.dirname, '../../..');
const notes = join(root, 'native-notes');
const pages = readdirSync(notes).filter((name) => name.endsWith('.md'));

interface Citation {
  readonly page: string;
  readonly file: string;
  readonly title: string;
}

/** `test/…/file.test.ts`: "title", "title"; … */
function citations(): Citation[] {
  return pages.flatMap((page) => {
    const text = readFileSync(join(notes, page), 'utf8');
    return [...text.matchAll(/`(test\/[\w./-]+\.ts)`: ("[^"]+"(?:,\s+"[^"]+")*)/g)].flatMap(
      ([, file, titles]) =>
        [...(titles as string).matchAll(/"([^"]+)"/g)].map(([, title]) => ({
          page,
          file: file as string,
          title: (title as string).replaceAll(/\s+/g, ' '),
        })),
    );
  });
}

t.test('every test that the notes name exists', async (t) => {
  const cited = citations();
  t.ok(cited.length > 50);
  for (const { page, file, title } of cited) {
    const source = readFileSync(join(root, file), 'utf8').replaceAll("\\'", "'");
    t.ok(source.includes(title), `${page}: ${file}: ${title}`);
  }
});

t.test('every rule that is tested in test/native/ is in the notes', async (t) => {
  const cited = new Set(citations().map(({ file, title }) => `${file} ${title}`));
  for (const name of readdirSync(join(root, 'test/native'))) {
    if (!name.endsWith('.test.ts') || name === 'notes.test.ts') continue;
    const file = `test/native/${name}`;
    const source = readFileSync(join(root, file), 'utf8');
    // Cases of a table are named as keys, not as the title of a test.
    for (const [, title] of source.matchAll(/^t\.test\(\s*'([^']+)'/gm)) {
      t.ok(cited.has(`${file} ${title as string}`), `${file}: ${title as string}`);
    }
  }
});

t.test('the index has every page', async (t) => {
  const index = readFileSync(join(notes, 'README.md'), 'utf8');
  for (const page of pages) if (page !== 'README.md') t.ok(index.includes(`(${page})`), page);
});
