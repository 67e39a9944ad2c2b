/**
 * The crash harness: `npm run test:fault -- --rounds N [--seed S] [--faults PARTS]`. Kills a real
 * gateway under load N times and compares what it answers after each restart with what it answered
 * before. PARTS selects faults by parts of their names, such as `disk` or `load,draining`. Stops at
 * the first violation.
 */
import { join } from 'node:path';
import { runHarness } from '../harness-run.js';
import { openTestRun } from './test-run.js';
import { finish, runRound } from './round.js';
import { pickKinds } from '../pick-kinds.js';
import { faultWeights } from './faults.js';

await runHarness(
  'fault',
  { rounds: 10, faults: '' },
  async ({ options: { rounds, faults: parts }, seed, directory, verdict }) => {
    const isClean = (): boolean => verdict.violations.length === 0;
    const run = await openTestRun(seed, join(directory, 'data'), verdict);
    const { gateway, consistency, ledger, readers, operator, retention, backups } = run;
    run.terminals.connectTo(gateway.url);
    await run.terminals.waitUntilIdle();
    await readers.connectTo(gateway.url, gateway.starts);
    await operator.open();
    const faults = pickKinds(run.chance.child('faults'), faultWeights, parts);
    for (verdict.round = 1; verdict.round <= rounds && isClean(); verdict.round++) {
      const startedAt = performance.now();
      const summary = await runRound(run, faults.next().value);
      const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
      console.log(
        `round ${verdict.round}: ${summary}; ${seconds} s, ${ledger.requests.size} signals, ` +
          `${ledger.cancels.size} orders cancelled, ${verdict.checks} checks`,
      );
    }
    if (isClean()) await finish(run);
    console.log(
      `${gateway.starts} starts, slowest start ${Math.round(gateway.slowestReadyMs)} ms, ` +
        `${gateway.nativeAborts} ended by lmdb on a dead disk, ` +
        `nearest submit to its TTL ${Math.round(consistency.latestMs)} ms\n` +
        `${readers.events} events read on ${readers.readings} connections, ` +
        `${operator.confirmed} commands confirmed and ${operator.killed} killed, ` +
        `${operator.stops.confirmed} stops and ${consistency.denied} executions denied by them, ` +
        `${backups.whole} complete backups and ${backups.cutOff} interrupted, ` +
        `${retention.interrupted} sweeps interrupted`,
    );
    return `${verdict.round - 1} rounds`;
  },
);
