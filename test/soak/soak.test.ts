import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import t from 'tap';

t.test('the soak runs and prints its table', { timeout: 170_000 }, async (t) => {
  // Seconds, so that the test cannot rot: too few for a judgement on growth; see `npm run test:soak`.
  const program = fileURLToPath(new URL('soak.program.js', import.meta.url));
  const { stdout, stderr } = spawnSync(
    process.execPath,
    ['--enable-source-maps', program, '--minutes', '0.1', '--rate', '60'],
    { encoding: 'utf8', timeout: 160_000 },
  );
  t.match(stdout, /^heapUsed( +[\d.-]+ MB){5} /m, `${stdout}${stderr}`);
  t.match(stdout, /^0\.1 minutes, \d+ deeds, \d+ checks, \d+ violations$/m);
  t.notMatch(stdout, /every deed is answered|no deed fails|replay is the stored/);
});
