/**
 * Whether logins, each of which costs some 20 ms of Argon2id and 19 MiB, slow the signals of others:
 * fifty of them a second while submit runs, against submit alone, at the same rate for both, which is
 * half of what submit can do under the storm. More logins than the machine can hash are turned away
 * with a 503, as they should be: the row says how many. Nobody logs in from fifty addresses here, so
 * the limit of logins per client is raised; it is counted all the same.
 */
import { answerDoubt } from '../load/generator-check.js';
import { latencyFigures, latencyText, type LoadReport, runLoad } from '../load/load.js';
import { type Row, toRow } from '../measure/report.js';
import { alternate, samplesOf } from '../measure/rounds.js';
import { removeDirectory } from '../measure/workspace.js';
import { queueing } from '../sides/retained.js';
import type { Bench, BenchOptions } from './bench.js';
import { connections, submitPopulation, submitSpec, withGateway } from './submit-comparison.js';

const loginsPerSecond = 50;
const latencyRateShare = 0.5;
const config = {
  ...queueing,
  limits: { ...queueing.limits, loginAttemptsPerMinute: 1_000_000 },
};

export const loginStorm: Bench = {
  name: 'login-storm',
  summary: 'submit while 50 users a second log in, against submit alone',
  needs: [],
  run,
};

async function run(options: BenchOptions): Promise<Row[]> {
  const { rounds, log } = options;
  const sides = ['storm', 'alone'] as const;
  const population = await submitPopulation(options);
  const spec = submitSpec(options, population);
  const storm = {
    ...spec,
    workload: 'login' as const,
    callers: population.users.map(({ email }) => ({ email, key: '' })),
    // More than the gateway lets wait for a hash, so that its refusals are seen.
    connections: 2 * connections,
    ratePerSecond: loginsPerSecond,
  };
  const reports: LoadReport[] = [];
  const logins: Record<string, number> = {};

  function turn(side: (typeof sides)[number], rate?: { ratePerSecond: number }) {
    return withGateway(
      options,
      population,
      async ({ url }) => {
        const loads = [runLoad({ ...spec, url, ...rate })];
        if (side === 'storm') loads.push(runLoad({ ...storm, url }));
        const loaded = await Promise.all(loads);
        reports.push(...loaded);
        const [submitted, loggedIn] = loaded;
        for (const [status, count] of Object.entries(loggedIn?.byStatus ?? {})) {
          logins[status] = (logins[status] ?? 0) + count;
        }
        return submitted as LoadReport;
      },
      config,
    );
  }

  const { answersPerSecond } = await turn('storm');
  const ratePerSecond = Math.round(latencyRateShare * answersPerSecond);
  const latency = await alternate(sides, rounds, async (side, round) => {
    const figures = latencyFigures(await turn(side, { ratePerSecond }));
    log(`login-storm, round ${round + 1}, ${side}: ${latencyText(figures)}`);
    return figures;
  });
  removeDirectory(population.dataDir);

  const doubt = answerDoubt(reports);
  const note =
    `submit: open loop at ${ratePerSecond} requests/s, ${connections} connections; ` +
    `logins: open loop at ${loginsPerSecond}/s, answered ${JSON.stringify(logins)}; ` +
    'loginAttemptsPerMinute raised';
  return (['p50', 'p99'] as const).map((percentile) =>
    toRow({
      bench: 'login-storm',
      figure: `${percentile} of submit`,
      unit: 'ms',
      ours: samplesOf(latency.storm, `${percentile}Ms`),
      other: samplesOf(latency.alone, `${percentile}Ms`),
      otherName: 'no logins',
      ...(percentile === 'p99' ? { aim: { is: 'at most', of: 'ratio', bound: 2 } as const } : {}),
      doubt,
      note,
    }),
  );
}
