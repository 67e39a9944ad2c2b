/**
 * The time harness: `npm run test:time -- --rounds N [--seed S] [--faults PARTS]`. Steps the wall clock
 * of a real gateway process by minutes and hours, blocks its event loop and suspends it, under traffic,
 * and checks what the gateway does against a monotonic clock of this process. PARTS selects faults by
 * parts of their names, such as `suspended` or `and held,stepped back`. Stops at the first violation.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { hourMs } from '../../../src/lib/durations.js';
import { runHarness } from '../harness-run.js';
import { openTestRun } from './test-run.js';
import { pickKinds } from '../pick-kinds.js';
import { isQuiet } from '../quiet-log.js';
import { faults, faultWeights } from './faults.js';

/** Rounds between two times at which traffic stops and every execution must reach its end. */
const roundsPerRest = 5;

await runHarness(
  'time',
  { rounds: 10, faults: '' },
  async ({ options: { rounds, faults: parts }, chance, directory, verdict }) => {
    const run = await openTestRun(directory, chance, verdict);
    const { gateway, wall, signalLog, trader, probes } = run;
    const names = pickKinds(chance.child('faults'), faultWeights, parts);
    const isClean = (): boolean => verdict.violations.length === 0;
    for (verdict.round = 1; verdict.round <= rounds && isClean(); verdict.round++) {
      const startedAt = performance.now();
      if (verdict.round % roundsPerRest === 1) await run.begin();
      await sleep(chance.between(200, 1_500));
      const name = names.next().value;
      await faults[name]({ wall, process: gateway.process, chance });
      await sleep(chance.between(0, 800));
      await probes.run();
      await run.checkAllOperations();
      const isRest = verdict.round % roundsPerRest === 0 || verdict.round === rounds;
      if (isRest && isClean()) await run.waitUntilSettled();
      const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
      console.log(
        `round ${verdict.round}: ${name}, the clock is ${(wall.offsetMs / hourMs).toFixed(1)} h ` +
          `off; ${seconds} s, ${signalLog.signals.size} signals, ${verdict.checks} checks`,
      );
    }
    if (isClean()) {
      await probes.finish();
      await run.disconnectAll();
      const code = await gateway.stop();
      verdict.hold('it ends well', code === 0, () => gateway.log());
      const loud = gateway
        .log()
        .split('\n')
        .filter((line) => line !== '' && !isQuiet(line));
      verdict.hold('nothing unexpected is logged', loud.length === 0, () => loud);
    }
    console.log(
      `${trader.refusedForTheClock} signals refused while the clock was set, ` +
        `${trader.replayed} replays, ${probes.refusals} refused by a rate, ${run.events} events`,
    );
    return `${verdict.round - 1} rounds`;
  },
);
