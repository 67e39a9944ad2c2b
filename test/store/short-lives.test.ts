/** Real processes that are killed after some milliseconds, one after another on one store. */
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { openStore } from '../../src/store/lmdb-store.js';
import { Chance } from '../harness/chance.js';
import { startProgram } from '../support/program.js';

const lives = process.env['TEST_ALL'] === undefined ? 25 : 400;
const seed = Number(process.env['SEED'] ?? Math.floor(Math.random() * 2 ** 32));
const chance = new Chance(seed, 'short lives');
t.setTimeout(lives * 20_000);

t.test(
  `nothing that was acknowledged is lost in ${lives} short lives (seed ${seed})`,
  async (t) => {
    const directory = t.testdir();
    let acknowledged = -1;
    for (let life = 0; life < lives; life++) {
      // From frames of which a segment holds many to one that needs a segment of its own.
      const wide = chance.pick([10, 3_000, 40_000, 90_000]);
      const program = startProgram(t, 'store/short-lives', [directory, `${wide}`]);
      const [, last, rows] = (await program.next()).split(' ').map(Number) as [
        number,
        number,
        number,
      ];
      if (last < acknowledged)
        t.fail(`life ${life}: ${last}, and ${acknowledged} was acknowledged`);
      if (rows !== last + 1) t.fail(`life ${life}: ${rows} rows up to ${last}`);
      if (chance.happens(0.9)) await program.next();
      await sleep(chance.between(0, 60));
      await program.kill();
      for (const message of program.rest()) acknowledged = Math.max(acknowledged, Number(message));
    }
    const store = openStore(directory);
    t.ok(Number(store.get('meta', 'last')) >= acknowledged, `${acknowledged} acknowledged`);
    t.ok(acknowledged > lives, 'they did something');
    await store.close();
  },
);
