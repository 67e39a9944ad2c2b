/**
 * The crash test: `npm run test:fault -- --rounds N [--seed S] [--strikes PART]`. Kills the real
 * gateway under load, again and again, and holds all that it says afterwards against what it said
 * before. PART picks the kinds of strikes by a part of their names, such as `disk`. Ends at the first
 * violation.
 */
import { join } from 'node:path';
import { runTrial } from '../harness-run.js';
import { openCampaign } from './test-run.js';
import { finish, playRound } from './round.js';
import { pickStrikes } from './faults.js';

await runTrial(
  'fault',
  { rounds: '10', strikes: '' },
  async ({ options, seed, directory, verdict, atExit }) => {
    const rounds = Number(options.rounds);
    const isClean = (): boolean => verdict.violations.length === 0;
    const campaign = await openCampaign(seed, join(directory, 'data'), verdict);
    const { gateway, inspector, ledger, audience, operator, archive, copies } = campaign;
    atExit(() => {
      gateway.abandon();
      copies.abandon();
    });
    campaign.floor.go(gateway.url);
    await campaign.floor.calm();
    await audience.go(gateway.url, gateway.lives);
    await operator.open();
    const strikes = pickStrikes(campaign.chance.child('strikes'), options.strikes);
    for (verdict.round = 1; verdict.round <= rounds && isClean(); verdict.round++) {
      const startedAt = performance.now();
      const story = await playRound(campaign, strikes.next().value);
      const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
      console.log(
        `round ${verdict.round}: ${story}; ${seconds} s, ${ledger.requests.size} signals, ` +
          `${ledger.cancels.size} orders cancelled, ${verdict.checks} checks`,
      );
    }
    if (isClean()) await finish(campaign);
    console.log(
      `${gateway.lives} lives, slowest start ${Math.round(gateway.slowestReadyMs)} ms, ` +
        `${gateway.nativeAborts} ended by lmdb on a dead disk, ` +
        `nearest submit to its TTL ${Math.round(inspector.latestMs)} ms\n` +
        `${audience.events} events read on ${audience.readings} connections, ` +
        `${operator.confirmed} commands confirmed and ${operator.killed} killed, ` +
        `${copies.whole} copies whole and ${copies.cutOff} cut off, ` +
        `${archive.cutHalfWay} sweeps cut half-way`,
    );
    return `${rounds} rounds`;
  },
);
