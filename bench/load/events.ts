/**
 * One round of event traffic at one server, which is started for it: what the generator is told, and
 * what comes back as figures. What was lost is a figure too, for a server that loses is not fast.
 */
import { fileURLToPath } from 'node:url';
import { limits } from '../../src/limits.js';
import { saturated } from './generator-check.js';
import type { Figures } from '../measure/rounds.js';
import { busiestShare, serverPids, usageOf } from '../measure/server-processes.js';
import { startSide } from '../measure/side.js';
import {
  eventServers,
  type EventServerName,
  type EventServerOptions,
} from '../sides/event-servers.js';
import { addressOf } from './raw-socket.js';
import type { EventsJob, EventsMeasured, EventsOutcome } from './events-load.js';

export interface EventsRound extends EventServerOptions {
  readonly side: EventServerName;
  readonly warmupSeconds: number;
  readonly seconds: number;
}

/** A type alias, since only those are also records of figures. */
export type EventsFigures = {
  readonly deliveredPerSecond: number;
  /** Processor time of the server for one delivered event. */
  readonly serverMicrosecondsPerEvent: number;
  /** Of the server's busiest event loop, and of the generator, by the wall time. */
  readonly serverBusyShare: number;
  readonly generatorBusyShare: number;
  readonly bytesPerEvent: number;
  /** Events times streams that did not arrive, or not in order. */
  readonly lost: number;
};

const program = fileURLToPath(new URL('./events-load.js', import.meta.url));

/** Streams of a user. */
const streamsPerChannel = limits.streamsPerUserMax.value;
/** Events of a user under way: enough that nobody waits for a flush, far from what a stream may owe. */
const window = 64;

export async function runEvents(round: EventsRound): Promise<EventsFigures & Figures> {
  const { server, traffic, close } = await eventServers[round.side](round);
  try {
    const generator = await startSide({ name: 'event load', program });
    try {
      const job: EventsJob = { ...addressOf(server.url), ...traffic, streamsPerChannel, window };
      await generator.ask({ do: 'open', job });
      await generator.ask({ do: 'run', seconds: round.warmupSeconds });
      const pids = serverPids(server);
      const before = usageOf(pids);
      const answer = await generator.ask({ do: 'run', seconds: round.seconds });
      const after = usageOf(pids);
      const measured = answer as unknown as EventsMeasured;
      const outcome = (await generator.ask({ do: 'finish' })) as unknown as EventsOutcome;
      if (outcome.closedConnections > 0) {
        throw new Error(`${round.side} closed ${outcome.closedConnections} connections under load`);
      }
      if (outcome.delivered === 0) throw new Error(`${round.side} delivered no event at all`);
      const cpuSeconds = after.cpuSeconds - before.cpuSeconds;
      return {
        deliveredPerSecond: measured.delivered / measured.seconds,
        serverMicrosecondsPerEvent: (cpuSeconds * 1e6) / Math.max(1, measured.delivered),
        serverBusyShare: busiestShare(before, after),
        generatorBusyShare: measured.busyShare,
        bytesPerEvent: measured.bytesPerEvent,
        lost: outcome.lost + outcome.disordered,
      };
    } finally {
      await generator.stop();
    }
  } finally {
    await close();
  }
}

/** Why a throughput must not be judged: the generator was at its limit and the server was not. */
export function generatorBound(rounds: readonly Figures[]): string | undefined {
  const isBound = (figures: Figures): boolean =>
    (figures['generatorBusyShare'] ?? 0) > saturated &&
    (figures['serverBusyShare'] ?? 0) < saturated;
  return rounds.some(isBound) ? 'generator-bound: the server could do more' : undefined;
}
