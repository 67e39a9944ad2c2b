/**
 * What an idle plugin and an idle stream cost in memory: 2,000 plugins, then three streams for each of
 * 1,700 users, at the gateway; as many streams at nginx with nchan. Memory is the proportional set
 * size of the serving processes, before and after, each time when nothing has happened for a while.
 * The gateway is measured with the garbage that the connecting has left, and again after a forced
 * collection; the measurement before has no garbage, which would hide the growth.
 */
import { fileURLToPath } from 'node:url';
import { setTimeout as pause } from 'node:timers/promises';
import { limits } from '../../src/limits.js';
import { addressOf } from '../load/raw-socket.js';
import { source, streamPath } from '../load/sample-event.js';
import { toRow, type Row } from '../measure/report.js';
import { alternate, samplesOf, type Figures } from '../measure/rounds.js';
import { serverPids } from '../measure/server-processes.js';
import { memoryBytes } from '../measure/memory.js';
import { requireConnections } from '../measure/open-files.js';
import { startSide, type Side } from '../measure/side.js';
import { closeGateway, startGateway } from '../sides/gateway.js';
import { populate } from '../sides/population.js';
import type { Bench, BenchOptions } from './bench.js';

export const memory: Bench = {
  name: 'memory',
  summary: 'bytes for an idle stream, against nginx with nchan, and for an idle plugin',
  needs: ['nginx'],
  run,
  ours: async (options) => {
    const { streamBytesCollected, pluginBytesCollected } = await gatewayRound(options);
    return { streamBytesCollected, pluginBytesCollected };
  },
};

const bench = 'memory';
const streamsPerUser = limits.streamsPerUserMax.value;
/** Memory varies little from round to round, and each takes half a minute. */
const roundsMax = 2;
const pathOf = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
const generatorProgram = pathOf('../load/idle-load.js');
const nchanProgram = pathOf('../sides/nchan.js');
const collectGarbage = new URL('../sides/collect-garbage.js', import.meta.url).href;

/** Counts and times of one run. */
function sizes({ isSmoke }: BenchOptions) {
  return isSmoke
    ? { plugins: 20, streamUsers: 17, settleMs: 200 }
    : { plugins: 2_000, streamUsers: 1_700, settleMs: 3_000 };
}

async function run(options: BenchOptions): Promise<Row[]> {
  const { plugins, streamUsers } = sizes(options);
  requireConnections(plugins + streamUsers * streamsPerUser);
  const sides = ['gateway', 'nchan'] as const;
  const round: Record<(typeof sides)[number], (options: BenchOptions) => Promise<Figures>> = {
    gateway: gatewayRound,
    nchan: nchanRound,
  };
  const rounds = Math.min(options.rounds, roundsMax);
  const { gateway, nchan } = await alternate(sides, rounds, (side) => {
    options.log(`${bench}: ${side}`);
    return round[side](options);
  });
  const row = (figure: string, name: string) => ({
    bench,
    figure,
    unit: 'bytes',
    ours: samplesOf(gateway, name),
  });
  const other = { other: samplesOf(nchan, 'streamBytes'), otherName: 'nchan' };
  return [
    toRow({
      ...row('an idle stream', 'streamBytes'),
      ...other,
      aim: { is: 'at most', of: 'ratio', bound: 1 },
      note: `${streamUsers * streamsPerUser} streams; without what the kernel holds for sockets`,
    }),
    toRow({ ...row('an idle stream, garbage collected', 'streamBytesCollected'), ...other }),
    toRow({ ...row('an idle plugin', 'pluginBytes'), note: `${plugins} plugins` }),
    toRow(row('an idle plugin, garbage collected', 'pluginBytesCollected')),
    toRow(row('all of the gateway with them', 'totalBytes')),
  ];
}

async function gatewayRound(options: BenchOptions) {
  const { product } = options;
  const { plugins, streamUsers, settleMs } = sizes(options);
  const population = await populate({ product, users: plugins, keysPerUser: 1 });
  const nodeFlags = [...(product.nodeFlags ?? []), '--expose-gc', '--import', collectGarbage];
  const server = await startGateway({ product: { ...product, nodeFlags }, population });
  const generator = await startSide({ name: 'idle load', program: generatorProgram });
  try {
    const settled = async () => {
      await pause(settleMs);
      const asItStands = memoryOf(server);
      process.kill(server.pid, 'SIGUSR2');
      await pause(settleMs);
      return { asItStands, collected: memoryOf(server) };
    };
    const path = `${streamPath}?${new URLSearchParams(source).toString()}`;
    const streams = population.users.slice(0, streamUsers).flatMap(({ keys }) =>
      Array.from({ length: streamsPerUser }, () => ({
        path,
        headers: [`Authorization: Bearer ${keys[0] as string}`],
      })),
    );
    const empty = await settled();
    const sessionTokens = population.users.map(({ sessionToken }) => sessionToken);
    await generator.ask({ do: 'plugins', ...addressOf(server.url), sessionTokens });
    const withPlugins = await settled();
    await generator.ask({ do: 'streams', ...addressOf(server.url), streams });
    const withStreams = await settled();
    await checkOpen(generator);
    return {
      pluginBytes: (withPlugins.asItStands - empty.collected) / plugins,
      pluginBytesCollected: (withPlugins.collected - empty.collected) / plugins,
      streamBytes: (withStreams.asItStands - withPlugins.collected) / streams.length,
      streamBytesCollected: (withStreams.collected - withPlugins.collected) / streams.length,
      totalBytes: withStreams.asItStands,
    };
  } finally {
    await generator.stop();
    await closeGateway(server, population);
  }
}

async function nchanRound(options: BenchOptions): Promise<Figures> {
  const { streamUsers, settleMs } = sizes(options);
  const server = await startSide({ name: 'nchan', program: nchanProgram, args: ['1'] });
  const generator = await startSide({ name: 'idle load', program: generatorProgram });
  try {
    const streams = Array.from({ length: streamUsers * streamsPerUser }, (_, index) => ({
      path: `/events/user-${Math.floor(index / streamsPerUser)}`,
      headers: [],
    }));
    await pause(settleMs);
    const empty = memoryOf(server);
    await generator.ask({ do: 'streams', ...addressOf(server.url), streams });
    await pause(settleMs);
    const withStreams = memoryOf(server);
    await checkOpen(generator);
    return { streamBytes: (withStreams - empty) / streams.length };
  } finally {
    await generator.stop();
    await server.stop();
  }
}

function memoryOf(server: Side): number {
  return serverPids(server).reduce((sum, pid) => sum + memoryBytes(pid, 'proportional'), 0);
}

async function checkOpen(generator: Side): Promise<void> {
  const { closed } = await generator.ask({ do: 'closed' });
  if (closed !== 0) throw new Error(`memory: ${String(closed)} idle connections were closed`);
}
