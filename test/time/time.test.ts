import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import t from 'tap';

t.test(
  'a clock that is set and a loop that is held break no promise',
  { timeout: 170_000 },
  async (t) => {
    // One round, so that the test cannot rot; `npm run test:time` plays as many as one wants.
    const program = fileURLToPath(new URL('time.program.js', import.meta.url));
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      ['--enable-source-maps', program, '--rounds', '1', '--strikes', 'forward and taken'],
      { encoding: 'utf8', timeout: 160_000 },
    );
    t.match(stdout, /^1 rounds, \d+ checks, 0 violations$/m);
    t.equal(status, 0, `${stdout}${stderr}`);
  },
);
