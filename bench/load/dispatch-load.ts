/**
 * Program: the generator of the dispatch bench. Bots and plugins share this process, so that one
 * clock sees a signal leave, its acceptance come back and its frame arrive at the plugin. Plugins
 * answer as real ones do: an ack and a report of the fill.
 */
import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { LatencyHistogram, type HistogramJson } from '../measure/statistics.js';
import { answerCommands } from './commands.js';
import { inSlices } from './in-slices.js';
import type { LoadReportJson, LoadSpec } from './load.js';
import { runOpenLoop } from './open-loop.js';
import { connectPlugin, type Plugin, type PluginTarget } from './plugin.js';
import type { Address } from './raw-socket.js';

export interface DispatchJob extends Address {
  /** One plugin for each session token. */
  readonly sessionTokens: readonly string[];
  readonly signals: LoadSpec & { readonly ratePerSecond: number };
}

export interface DispatchReport {
  /** The bot's view: to the acceptance. */
  readonly accept: LoadReportJson;
  /** From the same moment to the frame at the plugin. */
  readonly frame: HistogramJson;
  /** Signals sent whose frame did not come. */
  readonly missingFrames: number;
  readonly closedPlugins: number;
}

/** For frames behind the last acceptance; what has not come by then is missing. */
const lastFramesMs = 30_000;
const lookMs = 10;

const filled = {
  status: 'filled',
  filledQuantity: 1.5,
  remainingQuantity: 0,
  averageFillPrice: 1.08425,
};

const sentAt = new Map<number, number>();
const frame = new LatencyHistogram();
let closedPlugins = 0;

await answerCommands({
  async run({ job }: { job: DispatchJob }): Promise<DispatchReport> {
    const { host, port, sessionTokens, signals } = job;
    await inSlices(sessionTokens, (token) => connect({ host, port, token }));
    const run = randomBytes(4).toString('hex');
    const accept = await runOpenLoop(signals, signals.ratePerSecond, run, (sequence, intendedAt) =>
      sentAt.set(sequence, intendedAt),
    );
    const end = performance.now() + lastFramesMs;
    while (sentAt.size > 0 && performance.now() < end) await pause(lookMs);
    return { accept, frame: frame.toJSON(), missingFrames: sentAt.size, closedPlugins };
  },
});

async function connect(target: PluginTarget): Promise<void> {
  let seq = 0;
  const plugin: Plugin = await connectPlugin(target, {
    onSubmit({ executionId, signalId }) {
      const now = performance.now();
      const sequence = sequenceOf(signalId);
      const intendedAt = sentAt.get(sequence);
      if (intendedAt !== undefined) frame.record(now - intendedAt);
      sentAt.delete(sequence);
      plugin.send({ type: 'ack', executionId });
      plugin.send({ type: 'report', seq: ++seq, executionId, ...filled });
    },
    onClosed: () => closedPlugins++,
  });
  seq = plugin.lastSeq;
}

/** The workload ends every signalId with the request's number. */
function sequenceOf(signalId: string): number {
  return Number(signalId.slice(signalId.lastIndexOf('-') + 1));
}
