import t from 'tap';
import { playProgram } from '../../support/played-program.js';

t.setTimeout(300_000);

t.test('nothing that was promised is lost in a crash', { timeout: 300_000 }, async (t) => {
  // One round, so that the test cannot rot; `npm run test:fault` plays as many as one wants, and
  // strikes at the disk too, where lmdb may end the process (native-notes/lmdb.md).
  const { status, stdout, output } = playProgram(
    'harness/crash/crash',
    ['--rounds', '1', '--strikes', 'load'],
    280_000,
  );
  t.match(stdout, /^1 rounds, \d+ checks, 0 violations$/m);
  t.equal(status, 0, output);
});
