/**
 * What both event benches share: a round of traffic at one server, and the rows that two servers'
 * rounds make. 300 users whose plugins publish as fast as the server takes it, three streams each.
 */
import { type EventsFigures, generatorBound, runEvents } from '../load/events.js';
import { type Aim, type Row, toRow } from '../measure/report.js';
import { type Figures, samplesOf } from '../measure/rounds.js';
import type { EventServerName } from '../sides/event-servers.js';
import type { BenchOptions } from './bench.js';

/** One user may have 3 streams, so that it takes many users to make a crowd. */
const users = { smoke: 5, full: 300 };

export async function eventsRound(
  bench: string,
  side: EventServerName,
  options: BenchOptions,
): Promise<EventsFigures> {
  const { product, warmupSeconds, seconds, isSmoke, log } = options;
  const channels = isSmoke ? users.smoke : users.full;
  const figures = await runEvents({ side, product, channels, warmupSeconds, seconds });
  const { deliveredPerSecond, serverBusyShare, generatorBusyShare } = figures;
  const [server, generator] = [serverBusyShare, generatorBusyShare].map(
    (share) => `${Math.round(share * 100)}%`,
  );
  log(
    `${bench}, ${side}: ${Math.round(deliveredPerSecond)}/s, ` +
      `event loop ${server} busy, generator ${generator}`,
  );
  return figures;
}

export function comparisonRows(
  bench: string,
  ours: readonly Figures[],
  other: readonly Figures[],
  otherName: string,
  aim: Aim,
): Row[] {
  const both = (figure: string) => ({
    bench,
    ours: samplesOf(ours, figure),
    other: samplesOf(other, figure),
    otherName,
  });
  const most = (rounds: readonly Figures[], figure: string): string =>
    Math.round(Math.max(...samplesOf(rounds, figure))).toString();
  return [
    toRow({
      ...both('deliveredPerSecond'),
      figure: 'delivered',
      unit: 'events/s',
      aim,
      doubt: generatorBound([...ours, ...other]),
      note:
        'bytes on the wire for one event: ' +
        `${most(ours, 'bytesPerEvent')}, ${otherName} ${most(other, 'bytesPerEvent')}`,
    }),
    toRow({
      ...both('serverMicrosecondsPerEvent'),
      figure: 'processor time of the server for one delivered event',
      unit: 'µs',
    }),
    toRow({
      bench,
      figure: 'lost or out of order',
      unit: 'events',
      ours: samplesOf(ours, 'lost'),
      aim: { is: 'at most', of: 'value', bound: 0 },
      note: `${otherName}: ${most(other, 'lost')}`,
    }),
  ];
}

/** The throughput alone, against a server without an aim. */
export function againstVariant(
  bench: string,
  ours: readonly Figures[],
  other: readonly Figures[],
  otherName: string,
): Row {
  return toRow({
    bench,
    figure: `delivered, against ${otherName}`,
    unit: 'events/s',
    ours: samplesOf(ours, 'deliveredPerSecond'),
    other: samplesOf(other, 'deliveredPerSecond'),
    otherName,
    note: generatorBound(other),
  });
}
