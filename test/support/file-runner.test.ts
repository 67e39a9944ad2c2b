import { spawnSync } from 'node:child_process';
import { text } from 'node:stream/consumers';
import t, { type Test } from 'tap';
import { FileRunner, type FileTimes } from './file-runner.js';

const passing = "t.teardown(() => t.comment('torn down')); t.pass(`process ${process.pid}`);";
const bodies = {
  first: passing,
  second: passing,
  third: passing,
  failing: "t.test('a part', (t) => { t.fail('on purpose'); t.end(); });",
  directory: "t.comment(t.testdir()); t.test('x', async (t) => t.comment(t.testdir()));",
  directories:
    "import { existsSync } from 'node:fs';" +
    'const seen = []; t.teardown(() => t.comment(`seen: ${seen}`));' +
    'const watch = (t) => { const dir = t.testdir(); t.teardown(() => seen.push(existsSync(dir))); };' +
    "watch(t); t.test('x', async (t) => { watch(t); await t.test('y', async (t) => watch(t)); });",
  emptied: "t.testdir(); t.test('x', async (t) => { t.testdir(); t.testdir(); });",
  deadly: "t.pass(); process.kill(process.pid, 'SIGKILL');",
  open: 't.pass(); setInterval(() => {}, 1000);',
  slow: "t.test('waits', () => new Promise((resolve) => setTimeout(resolve, 60_000)));",
  longer: 't.setTimeout(30_000); setTimeout(() => t.pass(), 2500); t.plan(1);',
  stuck: 't.pass(); for (;;);',
  undocumented: 't.pass(); process.exitCode = 1;',
  late: "t.pass(); t.teardown(() => { throw new Error('late'); });",
  empty: '',
  broken: "throw new Error('at the top');",
};
type Name = keyof typeof bodies;

function start(t: Test, times: Partial<FileTimes> = {}): (name: Name) => Promise<string> {
  const folder = t.testdir(
    Object.fromEntries(
      Object.entries(bodies).map(([name, body]) => [`${name}.js`, `import t from 'tap';${body}`]),
    ),
  );
  const runner = new FileRunner({ timeoutMs: 30_000, closingMs: 100, ...times });
  t.teardown(() => runner.stop());
  return async (name) => {
    const { output, end } = runner.run(`${folder}/${name}.js`);
    const tap = await text(output);
    const { complaint } = await end;
    return complaint === undefined ? tap : `${tap}\ncomplaint: ${complaint}\n`;
  };
}

const processOf = (output: string): string | undefined => /process (\d+)/.exec(output)?.[1];

t.test('one process runs file after file; what a file asks of t is its own', async (t) => {
  const run = start(t);
  const first = await run('first');
  t.match(first, /^TAP version 14\nok 1 - process \d+\n[^]*# torn down\n/);
  t.match(first, /^1\.\.1$/m);
  t.match(await run('directory'), /# \/.*-directory\.js\n[^]*# \/.*-directory\.js-x\n/);
  t.equal(processOf(await run('second')), processOf(first));
});

t.test('the directory of a test goes after its teardowns', async (t) => {
  t.match(await start(t)('directories'), /^# seen: true,true,true$/m);
});

t.test('a file that runs alone has the same time, and its directories go as late', (t) => {
  const alone = `import '${import.meta.resolve('./alone.js')}'; t.comment(t.options.timeout);`;
  const content = { 'alone.js': `import t from 'tap'; ${alone} ${bodies.directories}` };
  const file = `${t.testdir(content)}/alone.js`;
  const { stdout } = spawnSync(process.execPath, [file], { encoding: 'utf8', env: {} });
  t.match(stdout, /^# 300000$/m);
  t.match(stdout, /^# seen: true,true,true$/m);
  t.end();
});

t.test('after a file that failed, the next one gets a new process', async (t) => {
  const run = start(t);
  const before = processOf(await run('first'));
  t.match(await run('failing'), / {4}not ok 1 - on purpose\n[^]*\nnot ok 1 - a part/);
  const after = processOf(await run('second'));
  t.match(after, /\d/);
  t.not(after, before);
  t.match(await run('deadly'), /^complaint: the process of this file ended with SIGKILL$/m);
  t.match(await run('third'), /^ok 1 - process/m);
});

t.test('a file has the time that it sets for itself', async (t) => {
  const output = await start(t, { timeoutMs: 2000, graceMs: 0 })('longer');
  t.match(output, /^ok 1/m);
  t.notMatch(output, 'complaint');
});

// oxfmt-ignore
const failures: readonly [Name, what: string, output: RegExp, Partial<FileTimes>?][] = [
  ['open', 'that leaves something open', /^complaint: never closed: Timeout$/m],
  ['slow', 'whose tests take longer than its time', /not ok 1 - timeout!/, { timeoutMs: 500 }],
  ['stuck', 'that never yields', /^complaint: the process of this file ended with SIGKILL$/m, { timeoutMs: 500, graceMs: 500 }],
  ['undocumented', 'that has set an exit code', /^complaint: the exit code would be 1/m],
  ['late', 'whose teardown throws', /^complaint: an error after its end/m],
  ['emptied', 'whose directory is made twice', /not ok 1 - a second testdir of a test empties the first$/m],
  ['empty', 'without tests', /^1\.\.0 # no tests found$/m],
  ['broken', 'that throws', /^not ok 1 - at the top$/m],
];

for (const [name, what, output, times] of failures) {
  t.test(`a file ${what} fails`, async (t) => {
    t.match(await start(t, times)(name), output);
  });
}
