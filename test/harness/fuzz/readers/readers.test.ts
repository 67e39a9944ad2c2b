import t from 'tap';
import { playProgram } from '../../../support/played-program.js';

t.test('hostile readers take nothing from a good one', { timeout: 110_000 }, async (t) => {
  // A few seconds, so that the target cannot rot; `npm run test:fuzz` plays as many as one wants.
  const { status, stdout, output } = playProgram(
    'harness/fuzz/fuzz',
    ['--target', 'readers', '--inputs', '40'],
    100_000,
  );
  t.match(stdout, /^1 targets of 40 inputs, \d+ checks, 0 violations$/m);
  t.equal(status, 0, output);
});
