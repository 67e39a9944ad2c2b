import t from 'tap';
import { playProgram } from '../../support/played-program.js';

t.test(
  'a clock that is set and a loop that is held break no promise',
  { timeout: 170_000 },
  async (t) => {
    // One round, so that the test cannot rot; `npm run test:time` plays as many as one wants.
    const { status, stdout, output } = playProgram(
      'harness/time/time',
      ['--rounds', '1', '--strikes', 'forward and taken'],
      160_000,
    );
    t.match(stdout, /^1 rounds, \d+ checks, 0 violations$/m);
    t.equal(status, 0, output);
  },
);
