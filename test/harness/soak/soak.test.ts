import t from 'tap';
import { playProgram } from '../../support/played-program.js';

t.test('the soak runs and prints its table', { timeout: 170_000 }, async (t) => {
  // Seconds, so that the test cannot rot: too few for a judgement on growth; see `npm run test:soak`.
  const { stdout, output } = playProgram(
    'harness/soak/soak',
    ['--minutes', '0.1', '--rate', '60'],
    160_000,
  );
  t.match(stdout, /^heapUsed( +[\d.-]+ MB){5} /m, output);
  t.match(stdout, /^0\.1 minutes, \d+ deeds, \d+ checks, \d+ violations$/m);
  t.notMatch(stdout, /every deed is answered|no deed fails|replay is the stored/);
});
