/**
 * Every test file, four at a time, each in a plain Node process of its own: `.taprc` makes this file the
 * one that `tap` runs. Were tap to start the files itself, it would load a TypeScript compiler, mocks
 * and coverage into each of them and into every gateway and command that they start: twice the work
 * for the processor, and none of the three is used here.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import {
  groupOf,
  groups,
  isVerified,
  platform,
  recordVerified,
} from './support/verified-groups.js';

/** The repository, seen from build/test. */
const root = join(import.meta.dirname, '../..');

/** `.taprc` says it, and tap hands it on to every process. */
const fileTimeoutMs = Number(process.env['TAP_TIMEOUT']) * 1000;

/** Set by `npm run test:all`: no group is skipped, and those that pass are recorded. */
const isAll = process.env['TEST_ALL'] !== undefined;

/**
 * Set to a path, it is where each file's seconds are appended: wall, user and system time, those of its
 * gateways and commands among them.
 */
const timesFile = process.env['TEST_TIMES'];
const timed = `began=$(date +%s%N); "$@"; status=$?; ended=$(date +%s%N)
times >"$TEST_TIMES.$$"
{ read -r own; read -r user system; } <"$TEST_TIMES.$$"
rm "$TEST_TIMES.$$"
echo "$(((ended - began) / 1000000)) $user $system $0" >>"$TEST_TIMES"
exit $status`;

// Two more than the smallest machine has cores: many tests wait for a time to pass.
t.jobs = 4;
// The bound is a file's, not the suite's.
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
  /^(?:quota\/limits-in-time|(?:bench|cli|harness|native|terminal)\/|plugins\/presence-)/;
const files = readdirSync(import.meta.dirname, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.test.js'))
  .sort((a, b) => Number(longest.test(b)) - Number(longest.test(a)) || (a < b ? -1 : 1));
const failedGroups = new Set<string>();
const runs = files.map(async (name) => {
  const group = groupOf(name);
  if (group !== undefined && skipped.includes(group)) return;
  const file = join(import.meta.dirname, name);
  const command = ['-u', 'NODE_OPTIONS', process.execPath, '--enable-source-maps', file];
  const [program = 'env', ...args] =
    timesFile === undefined ? ['env', ...command] : ['sh', '-c', timed, name, 'env', ...command];
  const results = await t.spawn(program, args, { name, buffered: true, timeout: fileTimeoutMs });
  if (group !== undefined && results?.ok !== true) failedGroups.add(group.name);
});

if (isAll) {
  void Promise.all(runs).then(() => {
    for (const group of groups) {
      if (!failedGroups.has(group.name)) recordVerified(root, group);
    }
  });
}
