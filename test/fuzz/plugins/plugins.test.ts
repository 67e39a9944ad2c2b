import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import t from 'tap';

t.test('hostile plugins change nothing that is not theirs', { timeout: 110_000 }, async (t) => {
  // A few seconds, so that the target cannot rot; `npm run test:fuzz` plays as many as one wants.
  const program = fileURLToPath(new URL('../fuzz.program.js', import.meta.url));
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['--enable-source-maps', program, '--target', 'plugins', '--inputs', '300'],
    { encoding: 'utf8', timeout: 100_000 },
  );
  t.match(stdout, /^1 targets of 300 inputs, \d+ checks, 0 violations$/m);
  t.equal(status, 0, `${stdout}${stderr}`);
});
