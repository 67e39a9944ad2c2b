/**
 * What the runner of the suite gives to each file, for one that runs alone as `node build/test/NAME.test.js`: time for
 * a busy machine, where tap would give 30 s, directories that outlive their users, and modes of files as they are asked
 * for, whatever the user's umask is.
 */
import t, { Test } from 'tap';

if (process.env['TAP_TIMEOUT'] === undefined) t.setTimeout(300_000);
guardDirectories(t);
process.umask(0o022);

/**
 * tap removes a test's directory before it runs the teardowns, unless a teardown was set before the directory was
 * made: a process that a teardown ends could still write to the directory, which then could not be removed. A second
 * `testdir` would empty the first one under a process that works there.
 */
export function guardDirectories(test: Test): void {
  // `teardown` of a file's own test would also end it as soon as it is idle.
  test.after(() => undefined);
  const make = test.testdir.bind(test);
  let made: string | undefined;
  test.testdir = (...content) => {
    if (made === test.testdirName) throw new Error('a second testdir of a test empties the first');
    made = test.testdirName;
    return make(...content);
  };
  test.on('subtestAdd', (subtest) => {
    if (subtest instanceof Test) guardDirectories(subtest);
  });
}
