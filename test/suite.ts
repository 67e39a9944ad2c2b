/**
 * Every test file, three at a time, each in a plain Node process of its own: `.taprc` makes this file the
 * one that `tap` runs. Were tap to start the files itself, it would load a TypeScript compiler, mocks
 * and coverage into each of them and into every gateway and command that they start: twice the work
 * for the processor, and none of the three is used here.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';

/** `.taprc` says it, and tap hands it on to every process. */
const fileTimeoutMs = Number(process.env['TAP_TIMEOUT']) * 1000;

// One more than the smallest machine has cores: many tests wait for a time to pass.
t.jobs = 3;
// The bound is a file's, not the suite's.
t.setTimeout(0);
const files = readdirSync(import.meta.dirname, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.test.js'))
  .sort();
for (const name of files) {
  const file = join(import.meta.dirname, name);
  const command = ['-u', 'NODE_OPTIONS', process.execPath, '--enable-source-maps', file];
  t.spawn('env', command, { name, buffered: true, timeout: fileTimeoutMs });
}
