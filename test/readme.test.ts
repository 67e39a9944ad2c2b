/**
 * README.md as a newcomer takes it: every command of a bot's first signal and of an operator's first day
 * runs in its order, against the gateway that they start, and shows what the page shows.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import ts from 'typescript';
import { eventually } from './support/eventually.js';
import { password } from './support/gateway-process.js';
import { missing } from './support/installed.js';
import { blocksOf, differences, type Block } from './support/page.js';
import { openShell, pathWith, signalboxScript } from './support/shell.js';

const root = fileURLToPath(new URL('../../', import.meta.url));
const page = readFileSync(join(root, 'README.md'), 'utf8');
const sections = new Map(
  page.split(/^## /m).map((text): [string, string] => [text.slice(0, text.indexOf('\n')), text]),
);
/** Commands that this test does not run: .ci/run runs them in a clean checkout. */
const ranByCi = ['npm ci', 'npm run demo', 'npm test'];
const shipped = { url: 'http://127.0.0.1:8080', opsUrl: 'http://127.0.0.1:9464' };
const email = 'ann@example.com';

t.test('what no test runs of the first two commands, .ci/run does', async (t) => {
  const [block, ...others] = blocksOf(sections.get('Two commands') ?? '');
  t.same(others, []);
  const commands = (block?.text ?? '').split(/&&|\n/).map((part) => part.replace(/#.*/, '').trim());
  t.same(new Set(commands.filter((command) => command !== '')), new Set(ranByCi));
  const steps = readFileSync(join(root, '.ci/run'), 'utf8');
  for (const command of ranByCi) t.match(steps, new RegExp(`^ *step \\w+ ${command}( |$)`, 'm'));
});

t.test('every file that the page names exists, and every npm script', async (t) => {
  const files = [...page.matchAll(/`((?:src|test|ops|bench|native-notes)\/[^`\s]*)`/g)];
  t.ok(files.length > 15);
  for (const [, file = ''] of files) t.ok(existsSync(join(root, file)), file);
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    scripts: Record<string, string>;
  };
  for (const [, script = ''] of page.matchAll(/npm run ([\w:]+)/g)) t.ok(scripts[script], script);
});

t.test(
  'a bot’s first signal and an operator’s first day go as the page says',
  {
    skip:
      ['bash', 'curl', 'script'].map((name) => missing(name, ['--version'])).find(Boolean) ?? false,
  },
  async (t) => {
    const directory = t.testdir();
    const environment = {
      // Stands for `npx` of an installation: the real one would build the project anew in a fresh checkout.
      PATH: pathWith(directory, { npx: `shift; ${signalboxScript}`, signalbox: signalboxScript }),
      SIGNALBOX_DATA_DIR: join(directory, 'data'),
      SIGNALBOX_PORT: '0',
      SIGNALBOX_OPS_PORT: '0',
    };
    const shell = openShell(t, { directory, environment });
    let ready = shipped;
    const local = (text: string): string =>
      text
        .replaceAll(shipped.url, ready.url)
        .replaceAll('localhost:9464', new URL(ready.opsUrl).host)
        .replaceAll('"…"', `"${password}"`);
    const run = async (commands: string): Promise<string> => {
      const { ok, output } = await shell.run(commands);
      t.ok(ok, `${commands}\n${output}`);
      return output;
    };

    /** Starts a command that keeps running. @returns its output, once that matches `saysWhenReady`. */
    async function start(command: string, saysWhenReady: RegExp): Promise<string> {
      const file = join(directory, `${saysWhenReady.source}.log`);
      await run(`${command.trim()} > '${file}' 2> '${file}.errors' &`);
      return eventually(() => {
        const said = existsSync(file) ? readFileSync(file, 'utf8') : '';
        return saysWhenReady.test(said) ? said : undefined;
      }, 60_000);
    }

    /** Runs a command at a terminal, and types the words when it asks. */
    async function answer(command: string, words: string): Promise<void> {
      const asked = spawn('script', ['-qec', command.trim(), '/dev/null'], {
        cwd: directory,
        env: environment,
      });
      t.teardown(() => asked.kill('SIGKILL'));
      let screen = '';
      asked.stdout.setEncoding('utf8').on('data', (text: string) => {
        screen += text;
        if (/: $/.test(screen)) {
          screen += '\n';
          asked.stdin.write(`${words}\r`);
        }
      });
      t.same(await once(asked, 'close'), [0, null], screen);
    }

    const runs: Readonly<Record<string, (block: Block) => Promise<string>>> = {
      'npx signalbox user add': async ({ text }) => {
        await answer(text, password);
        return '';
      },
      'npx signalbox serve': async ({ text }) => {
        const said = await start(text, /ready/);
        ready = JSON.parse(said) as typeof shipped;
        return said.replace(ready.url, shipped.url).replace(ready.opsUrl, shipped.opsUrl);
      },
      'npx signalbox terminal': ({ text }) =>
        start(`SIGNALBOX_PASSWORD='${password}' ${text.trim()} --url ${ready.url}`, /connected/),
      'curl -s $URL$': ({ text }) => {
        // A reader is slower than the terminal; a test may not be.
        const settled = `${text.trim()} | grep -q '"completed"'`;
        return run(`for _ in {1..300}; do ${settled} && break; sleep 0.1; done\n${text}`);
      },
      import: ({ text }) => {
        writeFileSync(join(directory, 'first.mjs'), local(text));
        t.same(complaintsAbout(join(directory, 'first.mjs')), []);
        return run(`'${process.execPath}' first.mjs`);
      },
    };
    for (const block of blocksOf(sections.get("A bot's first signal") ?? '')) {
      const own = Object.keys(runs).find((beginning) => block.text.startsWith(beginning));
      const output = await (own === undefined ? run(local(block.text)) : runs[own]?.(block));
      if (block.shown !== undefined) t.same(differences(block.shown, output ?? ''), [], block.text);
    }

    const day = sections.get("An operator's first day") ?? '';
    const other = join(directory, 'other');
    const commands = [...day.matchAll(/`((?:signalbox|curl) [^`]*)`/g)].map(
      ([, text = '']) => text,
    );
    t.ok(commands.length > 15);
    const listed = await run('signalbox signal list --json');
    const requestId = /req_[0-9A-Z]{26}/.exec(listed)?.[0] ?? '';
    for (const command of commands) {
      const place = command.startsWith('signalbox user import')
        ? `SIGNALBOX_DATA_DIR='${other}' `
        : '';
      const once = command === 'signalbox stats' ? ` --once --url ${ready.opsUrl}` : '';
      const words = command
        .replace('EMAIL', email)
        .replace('REQUEST_ID', requestId)
        .replace('S,…', 'signals:read')
        .replace(/ \[.*\]/, '')
        .replace('ID', '1')
        .replace('FILE', 'ann.jsonl')
        .replace('DIR', 'backup');
      await run(`${place}${local(words)}${once}`);
    }
    const after = await run('signalbox user list --json');
    t.notMatch(after, email, 'removed at the end of the day');
    t.match(await run(`SIGNALBOX_DATA_DIR='${other}' signalbox user list --json`), email, 'moved');
  },
);

t.test('what is not an answer to a login gives no token and no key', (t) => {
  const programs = [...page.matchAll(/\| (sed .*)\)$/gm)].map(([, text = '']) => text);
  t.equal(programs.length, 2);
  for (const program of programs) {
    const input = '{"code":"invalid_credentials","message":"Wrong email or password."}';
    t.equal(spawnSync('/bin/sh', ['-c', program], { input, encoding: 'utf8' }).stdout, '');
  }
  t.end();
});

/** Judges the program as strictly as this project’s own. */
function complaintsAbout(file: string): string[] {
  const program = ts.createProgram([file], {
    target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    strict: true,
    noUncheckedIndexedAccess: true,
    allowJs: true,
    checkJs: true,
    noEmit: true,
    skipLibCheck: true,
    types: ['node'],
  });
  return ts
    .getPreEmitDiagnostics(program)
    .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'));
}
