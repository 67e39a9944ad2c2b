/**
 * The crash test: `npm run test:fault -- --rounds N [--seed S] [--strikes PART]`. Kills the real
 * gateway under load, again and again, and holds all that it says afterwards against what it said
 * before. PART picks the kinds of strikes by a part of their names, such as `disk`. Exits with 1 at
 * the first violation, and keeps the data directory then.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { openCampaign } from './campaign.js';
import { finish, playRound } from './round.js';
import { Verdict } from './verdict.js';

const violationsShownMax = 5;

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '10' },
    strikes: { type: 'string', default: '' },
    seed: { type: 'string', default: `${Math.floor(Math.random() * 2 ** 32)}` },
  },
});
const rounds = Number(values.rounds);
const seed = Number(values.seed);
const directory = mkdtempSync(join(tmpdir(), 'signalbox-fault-'));
const verdict = new Verdict();

console.log(`seed ${seed}, ${rounds} rounds, data in ${directory}`);
const campaign = await openCampaign(seed, join(directory, 'data'), verdict);
process.on('exit', () => campaign.gateway.abandon());
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(1));
campaign.floor.go(campaign.gateway.url);
await campaign.floor.calm();
for (verdict.round = 1; verdict.round <= rounds && isClean(); verdict.round++) {
  const startedAt = performance.now();
  const story = await playRound(campaign, values.strikes);
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  const { requests, cancels } = campaign.ledger;
  console.log(
    `round ${verdict.round}: ${story}; ${seconds} s, ` +
      `${requests.size} signals, ${cancels.size} orders cancelled, ${verdict.checks} checks`,
  );
}
if (isClean()) await finish(campaign);

const { gateway, inspector } = campaign;
console.log(
  `${gateway.lives} lives, slowest start ${Math.round(gateway.slowestReadyMs)} ms, ` +
    `${gateway.nativeAborts} ended by lmdb on a dead disk, ` +
    `nearest submit to its TTL ${Math.round(inspector.latestMs)} ms`,
);
for (const { rule, round, evidence } of verdict.violations.slice(0, violationsShownMax)) {
  console.log(`VIOLATION (seed ${seed}, round ${round}): ${rule}\n${evidence}`);
}
if (isClean()) rmSync(directory, { recursive: true });
else console.log(`the data is kept in ${directory}`);
console.log(`${rounds} rounds, ${verdict.checks} checks, ${verdict.violations.length} violations`);
process.exit(isClean() ? 0 : 1);

function isClean(): boolean {
  return verdict.violations.length === 0;
}
