import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import t from 'tap';

t.test('nothing that was promised is lost in a crash', { timeout: 110_000 }, async (t) => {
  // Two rounds, so that the test cannot rot; `npm run test:fault` plays as many as one wants, and
  // strikes at the disk too, where lmdb may end the process (native-notes/lmdb.md).
  const program = fileURLToPath(new URL('crash.program.js', import.meta.url));
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['--enable-source-maps', program, '--rounds', '2', '--strikes', 'load'],
    { encoding: 'utf8', timeout: 100_000 },
  );
  t.match(stdout, /^2 rounds, \d+ checks, 0 violations$/m);
  t.equal(status, 0, `${stdout}${stderr}`);
});
