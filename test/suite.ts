/**
 * Runs every test file in six plain Node processes, each of which runs one file after another: `.taprc` makes
 * this file the one that `tap` runs. If tap started the files itself, it would load a TypeScript compiler,
 * mocks and coverage, which no test uses, into each of them and into every gateway and command that they
 * start.
 */
import { appendFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { FileRunner } from './support/file-runner.js';
import {
  groupOf,
  groups,
  isVerified,
  platform,
  recordVerified,
} from './support/verified-groups.js';

/** The repository, seen from build/test. */
const root = join(import.meta.dirname, '../..');

/** Time-out of a file, from `.taprc`. */
const timeoutMs = Number(process.env['TAP_TIMEOUT']) * 1000;

/** Set by `npm run test:all`: no group is skipped, and those that pass are recorded. */
const isAll = process.env['TEST_ALL'] !== undefined;

/** Path of a file to which each test file's seconds are appended, of the wall and of processors. */
const timesFile = process.env['TEST_TIMES'];

// Three times what the smallest machine has cores: most tests wait for a time to pass, or for a process.
t.jobs = 6;
// The time-out is for each file, not for the suite.
t.setTimeout(0);

const skipped = groups.filter((group) => !isAll && isVerified(root, group));
for (const { name, folders } of skipped) {
  const reason =
    `nothing has changed in package-lock.json, ${folders.join(' and ')} since it passed on ` +
    `${platform}; npm run test:all runs it`;
  t.test(`group ${name}`, { skip: reason }, () => undefined);
}

/** The files that take longest begin first, so that none of them is alone at the end. */
const longest =
  /^(?:quota\/limits-in-time|(?:bench|cli|e2e|fix|harness|native|sdk|terminal)\/|plugins\/presence-)/;
const files = readdirSync(import.meta.dirname, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.test.js'))
  .sort((a, b) => Number(longest.test(b)) - Number(longest.test(a)) || (a < b ? -1 : 1));
/** Replaces a function of Node before modules that use it are loaded, and does not restore it. */
const needsOwnProcess = /^auth\/comparisons\./;
const failedGroups = new Set<string>();
const waiting = files.filter((name) => !isSkipped(name));
const runs = Array.from({ length: t.jobs }, () => runWaiting(new FileRunner({ timeoutMs })));

if (isAll) {
  void Promise.all(runs).then(() => {
    for (const group of groups) {
      if (!failedGroups.has(group.name)) recordVerified(root, group);
    }
  });
}

function isSkipped(name: string): boolean {
  const group = groupOf(name);
  return group !== undefined && skipped.includes(group);
}

async function runWaiting(runner: FileRunner): Promise<void> {
  for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
    const began = Date.now();
    const isAlone = needsOwnProcess.test(name);
    if (isAlone) runner.stop();
    const { output, end } = runner.run(join(import.meta.dirname, name));
    const results = await t.stdin(name, { tapStream: output, buffered: true, timeout: 0 });
    const { complaint, cpuSeconds } = await end;
    if (complaint !== undefined) t.fail(`${name}: ${complaint}`);
    if (isAlone) runner.stop();
    const group = groupOf(name);
    const isOk = complaint === undefined && results?.ok === true;
    if (group !== undefined && !isOk) failedGroups.add(group.name);
    if (timesFile === undefined) continue;
    const seconds = [(Date.now() - began) / 1000, cpuSeconds].map((each) => each.toFixed(1));
    appendFileSync(timesFile, `${seconds.join(' ')} ${name}\n`);
  }
  runner.stop();
}
