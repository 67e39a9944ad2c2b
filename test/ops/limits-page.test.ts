/** ops/limits.md against the code: its tables, its examples of a config file, its metrics. */
import { readFileSync } from 'node:fs';
import t from 'tap';
import { limitNames } from '../../src/limits.js';
import { loadSettings } from '../../src/settings.js';
import { pageFile, pageTables } from './limits-page.js';
import { withTables } from './page-tables.js';

const page = readFileSync(pageFile, 'utf8');

t.test('the tables are the code’s', async (t) => {
  t.equal(
    page,
    withTables(page, pageTables()),
    'out of date: run "node build/test/ops/limits-page.program.js" and commit ops/limits.md',
  );
});

t.test('every limit has a row with its value, bounds and reason', async (t) => {
  const rows = pageTables()['limits'] ?? '';
  for (const name of limitNames)
    t.match(rows, new RegExp(`^\\| \`${name}\` \\| \\d.*\\S \\|$`, 'm'));
});

t.test('the example is a config file that the gateway takes', async (t) => {
  const [, text = ''] = /```json\n([\s\S]*?)```/.exec(page) ?? [];
  const settings = loadSettings({
    flags: { config: 'signalbox.json' },
    environment: {},
    readFile: () => text,
  });
  t.notOk(Array.isArray(settings), JSON.stringify(settings));
});
