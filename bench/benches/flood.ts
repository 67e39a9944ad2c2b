/**
 * Accepted signals, alone and beside a flood of refused requests: the flood may at most double their
 * p99. It comes from a generator of its own, at half the rate that the gateway could refuse in this
 * run: above its capacity, every server makes all clients wait. A flood at full speed is a row
 * without an aim.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { limits } from '../../src/limits.js';
import { answerDoubt, loadSide } from '../load/generator-check.js';
import type { Caller } from '../load/workload.js';
import { type LoadReport, type LoadSpec, runLoad } from '../load/load.js';
import type { WorkloadName } from '../load/workloads.js';
import { type Row, toRow } from '../measure/report.js';
import { alternate, samplesOf } from '../measure/rounds.js';
import { closeGateway, type GatewayConfig, startGateway } from '../sides/gateway.js';
import { populate } from '../sides/population.js';
import type { BenchOptions } from './bench.js';

export interface Flood {
  readonly workload: WorkloadName;
  readonly title: string;
  /** Requests a second that the gateway can refuse, as measured before. */
  readonly perSecondMax: number;
  readonly callersOf: (url: string, keys: readonly string[]) => Promise<Caller[]>;
}

/** Well below what the gateway accepts, so that alone nothing waits but for the disk. */
const validPerSecond = 500;
const validConnections = 32;
const floodConnections = 64;
const floodShare = 0.5;
/** The flood is there before the first valid signal, and after the last. */
const floodLeadMs = 500;
const keysPerUser = limits.activeKeysPerUserMax.value;

export async function floodRows(
  options: BenchOptions,
  config: GatewayConfig,
  floods: readonly Flood[],
): Promise<Row[]> {
  const alone = { name: 'alone' } as const;
  const held = floods.map((flood) => ({
    name: flood.title,
    flood,
    ratePerSecond: Math.max(1, Math.round(flood.perSecondMax * floodShare)),
  }));
  const unheld = floods.map((flood) => ({ name: `${flood.title} at full speed`, flood }));
  // A smoke run has checked that each kind is refused; one kind is enough to show how a flood runs.
  const turns: readonly Turn[] = options.isSmoke
    ? [alone, ...held.slice(0, 1)]
    : [alone, ...held, ...unheld.slice(0, 1)];
  const names = turns.map(({ name }) => name);
  const reports: LoadReport[] = [];
  const measured = await alternate(names, options.rounds, async (name, round) => {
    const turn = turns.find((candidate) => candidate.name === name) as Turn;
    const { report, flood } = await run(options, config, turn);
    reports.push(report, ...(flood === undefined ? [] : [flood]));
    const p99Ms = report.latency.percentile(99);
    const floodPerSecond = flood?.answersPerSecond ?? 0;
    const beside = `${Math.round(floodPerSecond)} refused/s`;
    options.log(`flood, round ${round + 1}, ${name}: ${beside}, submit p99 ${p99Ms.toFixed(2)} ms`);
    return { p99Ms, floodPerSecond };
  });
  const base = samplesOf(measured[alone.name] ?? [], 'p99Ms');
  return turns.slice(1).map(({ name, ratePerSecond }) => {
    const rounds = measured[name] ?? [];
    const perSecond = samplesOf(rounds, 'floodPerSecond').map(Math.round).join(', ');
    return toRow({
      bench: 'refused',
      figure: `submit p99 beside a flood of ${name}`,
      unit: 'ms',
      ours: samplesOf(rounds, 'p99Ms'),
      other: base,
      otherName: alone.name,
      ...(ratePerSecond === undefined
        ? {}
        : { aim: { is: 'at most', of: 'ratio', bound: 2 } as const }),
      doubt: answerDoubt(reports),
      note: `${validPerSecond} signals/s, open loop; refused beside them each second: ${perSecond}`,
    });
  });
}

interface Turn {
  readonly name: string;
  readonly flood?: Flood;
  /** Without it a flood takes all that it can get. */
  readonly ratePerSecond?: number;
}

async function run(
  options: BenchOptions,
  config: GatewayConfig,
  turn: Turn,
): Promise<{ report: LoadReport; flood: LoadReport | undefined }> {
  const { product, warmupSeconds, seconds } = options;
  const { flood, ratePerSecond } = turn;
  const loadSeconds = warmupSeconds + seconds;
  const validKeys = keysFor(validPerSecond * loadSeconds);
  const floodSeconds = loadSeconds + (2 * floodLeadMs) / 1000;
  const floodKeys = keysFor((flood?.perSecondMax ?? 0) * 2 * floodSeconds);
  const users = Math.ceil((validKeys + floodKeys) / keysPerUser);
  const population = await populate({ product, users, keysPerUser });
  const side = await startGateway({ product, population, config });
  try {
    const floodCallers = (await flood?.callersOf(side.url, population.keys.slice(validKeys))) ?? [];
    const spec: Omit<LoadSpec, 'workload'> = {
      url: side.url,
      callers: floodCallers,
      connections: floodConnections,
      warmupSeconds: 0,
      seconds: floodSeconds,
      ...(ratePerSecond === undefined ? {} : { ratePerSecond }),
    };
    const flooding =
      flood === undefined ? undefined : runLoad({ ...spec, workload: flood.workload });
    await delay(flooding === undefined ? 0 : floodLeadMs);
    const { report } = await loadSide(side, {
      workload: 'submit',
      callers: population.keys.slice(0, validKeys).map((key) => ({ key })),
      connections: validConnections,
      warmupSeconds,
      seconds,
      ratePerSecond: validPerSecond,
    });
    return { report, flood: await flooding };
  } finally {
    await closeGateway(side, population);
  }
}

/** Number of keys that so many requests within a minute need. */
function keysFor(requests: number): number {
  return Math.ceil(requests / limits.keyRequestsPerMinute.value);
}
