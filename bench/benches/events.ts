/**
 * Terminal events, as fast as the plugins of 300 users can publish them to three streams each,
 * against nginx with nchan: 300 channels with three EventSource subscribers, publishers on sockets of
 * nchan's own, which it takes faster than POSTs. One process of ours against one worker of nginx; by
 * POST and with a worker a core, nchan stands in rows without an aim.
 */
import { generatorBound, runEvents } from '../load/events.js';
import { toRow, type Row } from '../measure/report.js';
import { alternate, samplesOf, type Figures } from '../measure/rounds.js';
import type { EventServerName } from '../sides/event-servers.js';
import type { Bench, BenchOptions } from './all.js';

export const events: Bench = {
  name: 'events',
  summary: 'terminal events to SSE streams, against nginx with nchan',
  needs: ['nginx'],
  run,
  ours: (options) => round('gateway', options),
};

const bench = 'events';
const aim = { is: 'at least', of: 'ratio', bound: 1.5 } as const;
const variants = ['nchan by POST', 'nchan, a worker a core'] as const;

/** One user's limit is 3 streams, so that many users make the crowd. */
export function channelsOf({ isSmoke }: BenchOptions): number {
  return isSmoke ? 5 : 300;
}

async function run(options: BenchOptions): Promise<Row[]> {
  const sides = ['gateway', 'nchan'] as const;
  const measured = await alternate(sides, options.rounds, (side) => round(side, options));
  const rows = deliveredRows(bench, measured.gateway, measured.nchan, 'nchan', aim);
  for (const variant of variants) {
    const figures = [await round(variant, options)];
    rows.push(
      toRow({
        bench,
        figure: `delivered, against ${variant}`,
        unit: 'events/s',
        ours: samplesOf(measured.gateway, 'deliveredPerSecond'),
        other: samplesOf(figures, 'deliveredPerSecond'),
        otherName: variant,
        note: generatorBound(figures),
      }),
    );
  }
  return rows;
}

export function round(side: EventServerName, options: BenchOptions): Promise<Figures> {
  options.log(`${bench}: ${side}`);
  const { product, warmupSeconds, seconds } = options;
  return runEvents({ side, product, channels: channelsOf(options), warmupSeconds, seconds });
}

/** What both event benches say of two sides. */
export function deliveredRows(
  bench: string,
  ours: readonly Figures[],
  other: readonly Figures[],
  otherName: string,
  aim: Parameters<typeof toRow>[0]['aim'],
): Row[] {
  const pair = (figure: string) => ({
    bench,
    ours: samplesOf(ours, figure),
    other: samplesOf(other, figure),
    otherName,
  });
  const bytes = (rounds: readonly Figures[]): string =>
    Math.round(Math.max(...samplesOf(rounds, 'bytesPerEvent'))).toString();
  return [
    toRow({
      ...pair('deliveredPerSecond'),
      figure: 'delivered',
      unit: 'events/s',
      ...(aim === undefined ? {} : { aim }),
      doubt: generatorBound([...ours, ...other]),
      note: `bytes on the wire for one event: ${bytes(ours)}, ${otherName} ${bytes(other)}`,
    }),
    toRow({
      ...pair('serverMicrosecondsPerEvent'),
      figure: 'processor time of the server for one delivered event',
      unit: 'µs',
    }),
    toRow({
      bench,
      figure: 'lost or out of order',
      unit: 'events',
      ours: samplesOf(ours, 'lost'),
      aim: { is: 'at most', of: 'value', bound: 0 },
      note: `${otherName}: ${Math.max(...samplesOf(other, 'lost'))}`,
    }),
  ];
}
