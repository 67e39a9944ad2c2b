import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import t from 'tap';

t.test('what hostile HTTP clients send does no harm', { timeout: 115_000 }, async (t) => {
  // A few hundred inputs, so that the suite cannot rot; `npm run test:fuzz` plays as many as one
  // wants, and silent connections too, whose end takes longer than a test may.
  const program = fileURLToPath(new URL('fuzz.program.js', import.meta.url));
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['--enable-source-maps', program, '--target', 'http', '--inputs', '300'],
    { encoding: 'utf8', timeout: 110_000 },
  );
  t.match(stdout, /^1 targets of 300 inputs, \d+ checks, 0 violations$/m);
  t.equal(status, 0, `${stdout}${stderr}`);
});
