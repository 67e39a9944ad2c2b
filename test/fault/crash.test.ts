import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import t from 'tap';

t.setTimeout(300_000);

t.test('nothing that was promised is lost in a crash', { timeout: 300_000 }, async (t) => {
  // One round, so that the test cannot rot; `npm run test:fault` plays as many as one wants, and
  // strikes at the disk too, where lmdb may end the process (native-notes/lmdb.md).
  const program = fileURLToPath(new URL('crash.program.js', import.meta.url));
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['--enable-source-maps', program, '--rounds', '1', '--strikes', 'load'],
    { encoding: 'utf8', timeout: 280_000 },
  );
  t.match(stdout, /^1 rounds, \d+ checks, 0 violations$/m);
  t.equal(status, 0, `${stdout}${stderr}`);
});
