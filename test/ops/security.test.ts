/** ops/security.md against the repository: every test, command, file and name on it exists. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import t from 'tap';
import { programToRead } from '../support/in-process.js';
import { sessionLifetimeMs } from '../../src/auth/session-token.js';
import { limitNames, limits } from '../../src/limits.js';
import { settingNames, settingsTable } from '../../src/settings/table.js';
import { readOps } from './rule-files.js';

/** The repository, seen from build/test/ops. */
const root = join(import.meta.dirname, '../../..');
const page = readOps('security.md');
const code = [...page.matchAll(/`([^`\n]+)`/g)].map(([, text = '']) => text);
const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  scripts: Readonly<Record<string, string>>;
};

t.test('every promise is a sentence that stands out, and names what tests it', async (t) => {
  const table = sectionOf('What is promised');
  const rows = table.split('\n').filter((line) => line.startsWith('| **'));
  t.ok(rows.length >= 15, `${rows.length} promises`);
  for (const row of rows) {
    const [, promise = '', tests = ''] = row.split(/^\| | \| | \|$/);
    t.match(promise, /^\*\*[A-Z][^*]+\.\*\* \S.*\.$/, row);
    t.match(tests, /`(?:test\/[\w./-]+\.test\.ts|npm run test:\w+ [^`]+)`/, promise);
  }
});

t.test('every file that is named exists', async (t) => {
  const paths = code.filter((text) => /^(?:test|src|ops|native-notes)\//.test(text));
  t.ok(paths.length > 25, `${paths.length} paths`);
  for (const path of paths) t.ok(existsSync(join(root, path)), path);
});

t.test('every table of test/security is named', async (t) => {
  const files = readdirSync(join(root, 'test/security'));
  for (const file of files.filter((name) => name.endsWith('.test.ts'))) {
    t.ok(page.includes(`test/security/${file}`), file);
  }
});

t.test(
  'every program is a script of the package, and takes the options that are shown',
  async (t) => {
    const shown = code.filter((text) => text.startsWith('npm '));
    t.ok(shown.length >= 5, `${shown.length} commands`);
    for (const line of shown) {
      const [, script = ''] = /^npm (?:run )?([\w:]+)/.exec(line) ?? [];
      const runs = scripts[script];
      t.type(runs, 'string', `${script} is a script`);
      const program = /build\/(\S+)\.js/.exec(runs ?? '')?.[1];
      if (program === undefined) continue;
      const source = readFileSync(join(root, `${program}.ts`), 'utf8');
      for (const [, option] of line.matchAll(/ --([a-z]+)/g)) {
        t.match(source, new RegExp(`\\b${option}: ['0-9]`), `${script} --${option}`);
      }
    }
  },
);

t.test('every command and flag of the gateway is one', async (t) => {
  const commands = leaves(await programToRead());
  for (const text of code.filter((each) => each.startsWith('signalbox '))) {
    const words = text.replace(/ (?:EMAIL|ID|DIR)\b.*/, '').slice('signalbox '.length);
    const name = words.replace(/ --.*/, '');
    const command = commands.get(name);
    t.ok(command, text);
    const flags = [...text.matchAll(/--[a-z-]+/g)].map(([flag]) => flag);
    const known = command?.options.map(({ long }) => long) ?? [];
    for (const flag of flags) t.ok(known.includes(flag), `${text}: ${flag}`);
  }
  const settings = settingNames.map((name) => settingsTable[name]);
  for (const text of code.filter((each) => /^--(?!seed$)/.test(each))) {
    t.ok(
      settings.some(({ flag }) => flag === text),
      text,
    );
  }
  for (const text of code.filter((each) => each.startsWith('SIGNALBOX_'))) {
    t.ok(
      settings.some(({ environment }) => environment === text),
      text,
    );
  }
});

t.test('every limit that is named is one', async (t) => {
  const names: readonly string[] = limitNames;
  for (const text of code.filter((each) => /^[a-z]+[A-Z]\w*(?:Ms|Max|Minute|Days)$/.test(each))) {
    t.ok(names.includes(text), text);
  }
});

t.test('the page has all that a reader looks for', async (t) => {
  const titles = [...page.matchAll(/^## (.+)$/gm)].map(([, title]) => title);
  const listed = [...page.matchAll(/^- \[(.+)\]\(#/gm)].map(([, title]) => title);
  t.same(titles, listed);
  const who = [...sectionOf('Who is trusted with what').matchAll(/^\| \*\*([^*]+)\*\*/gm)];
  const words = who.map(([, name = '']) => name).join(' ');
  for (const one of ['Operator', 'Operating system', 'Network', 'Proxy', 'Bot', 'plugin']) {
    t.match(words, one);
  }
  t.match(sectionOf('Report a vulnerability'), 'private vulnerability report of the repository');
});

t.test('figures on the page are those of the code', async (t) => {
  t.match(page, `at ${limits.keyRequestsPerMinute.value.toLocaleString('en')} requests a minute`);
  t.match(page, `| ${sessionLifetimeMs / 86_400_000} days, \`signalbox session revoke`);
});

function sectionOf(title: string): string {
  const [, text = ''] = page.split(`\n## ${title}\n`);
  return text.split('\n## ')[0] ?? '';
}

function leaves(command: Command, path = ''): Map<string, Command> {
  const found = new Map(path === '' ? [] : [[path, command]]);
  for (const child of command.commands) {
    for (const [name, leaf] of leaves(child, `${path} ${child.name()}`.trim()))
      found.set(name, leaf);
  }
  return found;
}
