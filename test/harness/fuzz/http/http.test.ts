import t from 'tap';
import { playProgram } from '../../../support/played-program.js';

t.test('what hostile HTTP clients send does no harm', { timeout: 115_000 }, async (t) => {
  // A few hundred inputs, so that the suite cannot rot; `npm run test:fuzz` plays as many as one
  // wants, and silent connections too, whose end takes longer than a test may.
  const { status, stdout, output } = playProgram(
    'harness/fuzz/fuzz',
    ['--target', 'http', '--inputs', '300'],
    110_000,
  );
  t.match(stdout, /^1 targets of 300 inputs, \d+ checks, 0 violations$/m);
  t.equal(status, 0, output);
});
