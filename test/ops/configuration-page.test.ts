/** ops/configuration.md against the code: its tables, and its example of a config file. */
import { readFileSync } from 'node:fs';
import t from 'tap';
import { limits } from '../../src/limits.js';
import { loadSettings, type Settings } from '../../src/settings.js';
import { knownEnvironment, settingNames, settingsTable } from '../../src/settings/table.js';
import { pageFile, pageTables } from './configuration-page.js';
import { withTables } from './page-tables.js';

const page = readFileSync(pageFile, 'utf8');

t.test('the tables are those of the code', (t) => {
  const update = 'node build/test/ops/configuration-page.program.js';
  t.equal(
    page,
    withTables(page, pageTables()),
    `out of date: run "${update}" and commit ops/configuration.md`,
  );
  for (const name of settingNames) {
    const { flag, environment } = settingsTable[name];
    t.match(page, `| ${flag === null ? '' : `\`${flag}\``} | \`${environment}\` |`);
  }
  t.end();
});

t.test('the page names no variable that does not exist, and leaves none out', (t) => {
  const named = new Set(page.match(/SIGNALBOX_[A-Z_]+[A-Z]/g));
  t.same([...named].sort(), [...knownEnvironment].sort());
  t.end();
});

t.test('the example of a config file is one, and changes what it says', (t) => {
  const example = /```json\n([\s\S]*?)```/.exec(page)?.[1] as string;
  const settings = loadSettings({
    flags: { config: 'signalbox.json' },
    environment: {},
    readFile: () => example,
  }) as Settings;
  t.notOk(Array.isArray(settings), JSON.stringify(settings));
  const given = JSON.parse(example) as Record<string, object>;
  t.same(Object.keys(given), ['host', 'trustProxy', 'logLevel', 'limits', 'plans', 'platforms']);
  t.match(settings, given);
  t.not(settings.limits.streamsPerUserMax, limits.streamsPerUserMax.value);
  t.end();
});

t.test('the page says of plans and platforms what a refusal says', (t) => {
  const wrong = {
    plans: { A: {}, desk: { publicApi: true, signalsPerMinute: -1, signalsPerDay: -1 } },
    platforms: [{ token: 'A', account: 'named' }],
  };
  const found = loadSettings({
    flags: { config: 'signalbox.json' },
    environment: {},
    readFile: () => JSON.stringify(wrong),
  });
  const forms = (found as { message: string }[]).map(
    ({ message }) => /it must be (?:a plan )?(.*)\.$/.exec(message)?.[1] as string,
  );
  t.equal(forms.length, 4);
  for (const form of forms) t.match(page.replace(/\s+/g, ' '), form);
  t.end();
});
