/**
 * From a bot's send to the frame at the terminal's plugin, against the acceptance of the same signals
 * in the same run. 200 users with a plugin each; signals at an even rate that leaves the gateway idle
 * most of the time; one process has bots and plugins, so one clock measures both ways.
 */
import { fileURLToPath } from 'node:url';
import type { DispatchJob, DispatchReport } from '../load/dispatch-load.js';
import { addressOf } from '../load/raw-socket.js';
import { toRow, type Row } from '../measure/report.js';
import { alternate, samplesOf } from '../measure/rounds.js';
import { startSide } from '../measure/side.js';
import { LatencyHistogram } from '../measure/statistics.js';
import { closeGateway, startGateway } from '../sides/gateway.js';
import { populate } from '../sides/population.js';
import type { Bench, BenchOptions } from './bench.js';

export const dispatch: Bench = {
  name: 'dispatch',
  summary:
    'signal to plugin: from the send to the frame, against the acceptance of the same signal',
  needs: [],
  run,
  ours: async (options) => {
    const { frameP50Ms } = await round(options);
    return { frameP50Ms };
  },
};

const bench = 'dispatch';
const ratePerSecond = 400;
/** Connections of the bots: far more than are needed at once, so that none waits for another's answer. */
const connections = 64;
/** How much later than its acceptance a signal may be at the plugin. */
const laterMsMax = 0.2;
/** An acceptance that takes longer shows that the machine had no time for this rate. */
const overloadedMs = 50;
const program = fileURLToPath(new URL('../load/dispatch-load.js', import.meta.url));

async function run(options: BenchOptions): Promise<Row[]> {
  const { gateway } = await alternate(['gateway'], options.rounds, () => round(options));
  const pair = (percentile: string) => ({
    bench,
    unit: 'ms',
    ours: samplesOf(gateway, `frame${percentile}Ms`),
    other: samplesOf(gateway, `accept${percentile}Ms`),
    otherName: 'accepted',
  });
  return [
    toRow({ ...pair('P50'), figure: 'send to frame at the plugin, p50' }),
    toRow({ ...pair('P99'), figure: 'send to frame at the plugin, p99' }),
    toRow({
      bench,
      figure: 'frame later than acceptance, of the p50s',
      unit: 'ms',
      ours: samplesOf(gateway, 'laterMs'),
      aim: { is: 'at most', of: 'value', bound: laterMsMax },
      doubt: samplesOf(gateway, 'acceptP50Ms').some((ms) => ms > overloadedMs)
        ? 'the machine was too busy for this rate'
        : undefined,
      note: `${ratePerSecond} signals/s to 200 plugins that ack and report each`,
    }),
  ];
}

async function round(options: BenchOptions) {
  const { isSmoke, log, product, warmupSeconds, seconds } = options;
  const population = await populate({ product, users: isSmoke ? 10 : 200, keysPerUser: 1 });
  const server = await startGateway({ product, population });
  const generator = await startSide({ name: 'dispatch load', program });
  try {
    const job: DispatchJob = {
      ...addressOf(server.url),
      sessionTokens: population.users.map(({ sessionToken }) => sessionToken),
      signals: {
        url: server.url,
        workload: 'submit',
        callers: population.keys.map((key) => ({ key })),
        connections: isSmoke ? 8 : connections,
        ratePerSecond: isSmoke ? ratePerSecond / 8 : ratePerSecond,
        warmupSeconds,
        seconds,
      },
    };
    const report = (await generator.ask({ do: 'run', job })) as unknown as DispatchReport;
    const { accept, missingFrames, closedPlugins } = report;
    const failures = accept.unexpected + accept.unanswered + missingFrames + closedPlugins;
    if (failures > 0) {
      throw new Error(
        `dispatch: ${accept.unexpected} signals refused, ${accept.unanswered} unanswered, ` +
          `${missingFrames} never at their plugin, ${closedPlugins} plugins cut off`,
      );
    }
    const acceptance = LatencyHistogram.fromJSON(accept.latency);
    const frame = LatencyHistogram.fromJSON(report.frame);
    const laterMs = frame.percentile(50) - acceptance.percentile(50);
    log(`${bench}: frame ${frame.percentile(50).toFixed(2)} ms, ${laterMs.toFixed(2)} ms later`);
    return {
      frameP50Ms: frame.percentile(50),
      frameP99Ms: frame.percentile(99),
      acceptP50Ms: acceptance.percentile(50),
      acceptP99Ms: acceptance.percentile(99),
      laterMs,
    };
  } finally {
    await generator.stop();
    await closeGateway(server, population);
  }
}
