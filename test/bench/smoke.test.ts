/** Runs every bench that needs nothing but Node through the real command: none may rot unseen. */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import t from 'tap';
import { benches } from '../../bench/benches/all.js';
import type { Results } from '../../bench/run.js';

t.setTimeout(900_000);

const program = fileURLToPath(new URL('../../bench/run.js', import.meta.url));
const run = promisify(execFile);

t.test('every bench that needs nothing gives its rows, on the screen and as JSON', async (t) => {
  const names = benches.filter(({ needs }) => needs.length === 0).map(({ name }) => name);
  const file = join(t.testdir(), 'results.json');
  const { stdout } = await run(process.execPath, [program, ...names, '--smoke', '--json', file]);
  const { environment, settings, rows, skipped } = JSON.parse(
    readFileSync(file, 'utf8'),
  ) as Results;
  t.same(skipped, []);
  t.match(settings, { rounds: 1, isSmoke: true });
  t.match(environment, {
    commit: String,
    isDirty: Boolean,
    node: process.versions.node,
    cpu: String,
    kernel: String,
    flags: Array,
    disk: { directory: String, isMemory: Boolean },
  });
  t.same(new Set(rows.map(({ bench }) => bench)), new Set(names));
  for (const row of rows) {
    const about = `${row.bench}: ${row.figure}`;
    t.match(
      row,
      { bench: String, figure: /./, unit: String, otherName: String, aim: String },
      about,
    );
    for (const side of row.other === undefined ? [row.ours] : [row.ours, row.other]) {
      t.ok(side.samples.length > 0 && side.samples.every(Number.isFinite), about);
      t.ok(side.min <= side.median && side.median <= side.max, about);
    }
    t.ok(stdout.includes(row.figure), `${about} is on the screen`);
  }
});

t.test('a name that is no bench is told, with those that are', async (t) => {
  const refused: { code?: number; stderr?: string } = await run(process.execPath, [
    program,
    'nosuch',
  ]).then(
    () => ({}),
    (error: unknown) => error as { code: number; stderr: string },
  );
  t.equal(refused.code, 2);
  for (const { name } of benches) t.match(refused.stderr, name);
});
