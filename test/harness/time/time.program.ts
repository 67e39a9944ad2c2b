/**
 * The test of time: `npm run test:time -- --rounds N [--seed S] [--strikes PART]`. Sets the wall clock
 * of a real gateway process to and fro by minutes and hours, holds its loop and suspends it, all under
 * traffic, and judges by a clock of its own what the gateway does and says. PART picks the kinds of
 * strikes by a part of their names, such as `suspended`. Ends at the first violation.
 */
import { runTrial } from '../harness-run.js';
import { openStage } from './test-run.js';
import { strike } from './faults.js';

/** Between two rests all that the clock can do to what waits may add up. */
const roundsPerRest = 5;

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

await runTrial(
  'time',
  { rounds: '10', strikes: '' },
  async ({ options, chance, directory, verdict, atExit }) => {
    const rounds = Number(options.rounds);
    const stage = await openStage(directory, chance, verdict, atExit);
    const { gateway, wall, trail, trader, probes } = stage;
    const isClean = (): boolean => verdict.violations.length === 0;
    for (verdict.round = 1; verdict.round <= rounds && isClean(); verdict.round++) {
      const startedAt = performance.now();
      if (verdict.round % roundsPerRest === 1) await stage.begin();
      await sleep(chance.between(200, 1_500));
      const name = await strike({ wall, process: gateway.process, chance }, options.strikes);
      await sleep(chance.between(0, 800));
      await probes.run();
      await stage.everythingWorks();
      const isRest = verdict.round % roundsPerRest === 0 || verdict.round === rounds;
      if (isRest && isClean()) await stage.comeToRest();
      const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
      console.log(
        `round ${verdict.round}: ${name}, the clock is ${(wall.offsetMs / 3_600_000).toFixed(1)} h ` +
          `off; ${seconds} s, ${trail.signals.size} signals, ${verdict.checks} checks`,
      );
    }
    if (isClean()) {
      await probes.finish();
      await stage.leave();
      const code = await gateway.stop();
      verdict.hold('it ends well', code === 0, () => gateway.log());
      const loud = gateway
        .log()
        .split('\n')
        .filter((line) => /"level":"(warn|error|fatal)"/.test(line));
      verdict.hold('nothing unexpected is logged', loud.length === 0, () => loud);
    }
    console.log(
      `${trader.refusedForTheClock} signals refused while the clock was set, ` +
        `${trader.replayed} replays, ${probes.refusals} refused by a rate, ${stage.events} events`,
    );
    return `${rounds} rounds`;
  },
);
