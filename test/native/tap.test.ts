/** What the test runner does that our scripts rely on: native-notes/tests.md. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import t from 'tap';

const runner = createRequire(import.meta.url)
  .resolve('tap/package.json')
  .replace('package.json', 'dist/esm/run.mjs');

t.test(
  'it ends with the counts that .ci/run reads, exits 1, and passes over two folders',
  async (t) => {
    const passing = "import t from 'tap'; t.pass();";
    const directory = t.testdir({
      'package.json': '{"type":"module"}',
      '.taprc':
        'include:\n  - test/**/*.test.js\ndisable-coverage: true\nallow-empty-coverage: true\n',
      test: {
        'a.test.js': passing,
        'b.test.js': "import t from 'tap'; t.fail('on purpose');",
        fixtures: { 'c.test.js': passing },
        dist: { 'd.test.js': passing },
      },
    });
    const { code, output } = await runTap(directory);
    t.equal(code, 1);
    t.match(output, /\n# \{ total: 2, pass: 1, fail: 1 \}\n# time=/);
  },
);

t.test('a test of the suite, and what it starts, has none of the loaders of tap', async (t) => {
  const built = (file: string): string => readFileSync(new URL(file, import.meta.url), 'utf8');
  const directory = t.testdir({
    'package.json': '{"type":"module"}',
    '.taprc': 'include:\n  - suite.js\ndisable-coverage: true\nallow-empty-coverage: true\n',
    'suite.js': built('../suite.js'),
    support: {
      'alone.js': built('../support/alone.js'),
      'file-runner.js': built('../support/file-runner.js'),
      'file-runner.program.js': built('../support/file-runner.program.js'),
      // A stand-in, since the groups are those of this repository.
      'verified-groups.js':
        'export const groups = []; export const groupOf = () => undefined;' +
        "export const platform = ''; export const isVerified = () => false;" +
        'export const recordVerified = () => undefined;',
    },
    below: {
      'a.test.js':
        "import t from 'tap'; const { execArgv, env } = process;" +
        "t.notMatch(`${execArgv} ${env.NODE_OPTIONS}`, 'tapjs');",
      'b.test.js': "import t from 'tap'; t.fail('on purpose');",
    },
  });
  const { code, output } = await runTap(directory);
  t.equal(code, 1);
  t.match(output, /ok 1 - below\/a\.test\.js/);
  t.match(output, /\n# \{ total: 2, pass: 1, fail: 1 \}\n# time=/);
});

t.test(
  'a directory goes before the teardowns that come after it, unless one came before it',
  async (t) => {
    const folder = (before: string) => ({
      'package.json': '{"type":"module"}',
      '.taprc': 'include:\n  - a.js\ndisable-coverage: true\nallow-empty-coverage: true\n',
      'a.js':
        "import { existsSync } from 'node:fs'; import t from 'tap';" +
        `${before} const directory = t.testdir();` +
        't.teardown(() => console.log(`there: ${existsSync(directory)}`)); t.pass();',
    });
    const directory = t.testdir({
      false: folder(''),
      true: folder('t.teardown(() => undefined);'),
    });
    for (const isThere of [false, true]) {
      const { output } = await runTap(`${directory}/${isThere}`);
      t.match(output, `there: ${isThere}`);
    }
  },
);

async function runTap(directory: string): Promise<{ code: number | null; output: string }> {
  const { PATH, HOME } = process.env;
  const child = spawn(process.execPath, [runner], { cwd: directory, env: { PATH, HOME } });
  let output = '';
  child.stdout.on('data', (chunk) => {
    output += String(chunk);
  });
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, output };
}
