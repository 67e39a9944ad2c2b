/**
 * Terminal events to streams against nginx with nchan: a channel for each user with three EventSource
 * subscribers, publishers on sockets of nchan's own, which it takes twice as fast as POSTs. One
 * process of ours against one worker of nginx; by POST and with a worker a core, nchan has rows
 * without an aim, measured once.
 */
import type { Row } from '../measure/report.js';
import { alternate } from '../measure/rounds.js';
import type { Bench, BenchOptions } from './bench.js';
import { againstVariant, comparisonRows, eventsRound } from './events-comparison.js';

export const events: Bench = {
  name: 'events',
  summary: 'terminal events to SSE streams, against nginx with nchan',
  needs: ['nginx'],
  run,
  ours: async (options) => {
    const figures = await eventsRound(bench, 'gateway', options);
    const { deliveredPerSecond, serverMicrosecondsPerEvent } = figures;
    return { deliveredPerSecond, serverMicrosecondsPerEvent };
  },
};

const bench = 'events';
const aim = { is: 'at least', of: 'ratio', bound: 2 } as const;
const variants = ['nchan by POST', 'nchan, a worker a core'] as const;

async function run(options: BenchOptions): Promise<Row[]> {
  const { gateway, nchan } = await alternate(['gateway', 'nchan'], options.rounds, (side) =>
    eventsRound(bench, side, options),
  );
  const rows = comparisonRows(bench, gateway, nchan, 'nchan', aim);
  for (const variant of variants) {
    const once = await eventsRound(bench, variant, options);
    rows.push(againstVariant(bench, gateway, [once], variant));
  }
  return rows;
}
