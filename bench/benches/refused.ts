/**
 * Requests that are refused: how fast, against the bare handler that answers the same bytes, and what
 * a flood of them does to the latency of signals that are accepted. The refusals stand at different
 * depths: a key that nobody has (401), a key whose minute is used up (429), a signal that is none (422).
 */
import { randomBytes } from 'node:crypto';
import { limits } from '../../src/limits.js';
import type { Caller } from '../load/workload.js';
import { runLoad } from '../load/load.js';
import type { WorkloadName } from '../load/workloads.js';
import type { Row } from '../measure/report.js';
import { closeGateway, type GatewayConfig, startGateway } from '../sides/gateway.js';
import { populate } from '../sides/population.js';
import type { Bench, BenchOptions } from './bench.js';
import {
  againstBareHandler,
  callersNeeded,
  type OpenGateway,
  oursAlone,
  type Subject,
} from './bare-comparison.js';
import { type Flood, floodRows } from './flood.js';

const keysPerUser = limits.activeKeysPerUserMax.value;
/** Without it all answers would be 429: failed attempts of one client are limited as well. */
const manyAttempts: GatewayConfig = {
  limits: { unauthenticatedAttemptsPerMinute: 1_000_000 },
};
/** Has the form of a requestId and belongs to no request. */
const noRequestId = `req_${'0'.repeat(26)}`;

export const refused: Bench = {
  name: 'refused',
  summary:
    '401, 429 and 422 against the same bare handler; and floods of them beside valid signals',
  needs: [],
  async run(options) {
    const rows: Row[] = [];
    const floods: Flood[] = [];
    for (const subject of subjects) {
      const compared = await againstBareHandler(options, subject);
      rows.push(...compared);
      floods.push({
        workload: subject.workload,
        title: subject.title,
        perSecondMax: (compared[0] as Row).ours.median,
        callersOf: (url, keys) => refusedCallers(url, subject.workload, keys),
      });
    }
    return [...rows, ...(await floodRows(options, manyAttempts, floods))];
  },
  async ours(options) {
    const figures: Record<string, number> = {};
    for (const subject of subjects) {
      const { requestsPerSecond = NaN } = await oursAlone(options, subject);
      figures[`${subject.workload}PerSecond`] = requestsPerSecond;
    }
    return figures;
  },
};

const subjects: readonly (Subject & { readonly title: string })[] = (
  [
    ['refused-401', '401'],
    ['refused-429', '429'],
    ['refused-422', '422'],
  ] as const
).map(([workload, title]) => ({
  bench: 'refused',
  title,
  workload,
  aim: 0.6,
  hasLatency: false,
  open: (options: BenchOptions) => open(options, workload),
}));

async function open(options: BenchOptions, workload: WorkloadName): Promise<OpenGateway> {
  const users = Math.ceil(callersNeeded(options) / keysPerUser);
  const population = await populate({ product: options.product, users, keysPerUser });
  const side = await startGateway({ product: options.product, population, config: manyAttempts });
  const callers = await refusedCallers(side.url, workload, population.keys);
  return { side, callers, close: () => closeGateway(side, population) };
}

/** Callers that will get the workload's refusal, made from keys that are fresh. */
async function refusedCallers(
  url: string,
  workload: WorkloadName,
  keys: readonly string[],
): Promise<Caller[]> {
  if (workload === 'refused-401') return keys.map(() => caller(unknownKey()));
  if (workload !== 'refused-429') return keys.map(caller);
  const spent = keys.slice(0, spentKeys).map(caller);
  await spend(url, spent);
  return spent;
}

/** A flood of this kind comes from one bot that went wrong, or a few. */
const spentKeys = 2;
const spendPerSecond = 5_000;

/** Uses up the minute of every key: requests go round the callers, so their number is exact. */
async function spend(url: string, callers: readonly Caller[]): Promise<void> {
  await runLoad({
    url,
    workload: 'refused-429',
    callers,
    connections: 32,
    warmupSeconds: 0,
    seconds: (callers.length * limits.keyRequestsPerMinute.value) / spendPerSecond,
    ratePerSecond: spendPerSecond,
  });
}

function caller(key: string): Caller {
  return { key, requestId: noRequestId };
}

function unknownKey(): string {
  return `svc_api_${randomBytes(32).toString('base64url')}`;
}
