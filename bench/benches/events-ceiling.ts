/**
 * How far the gateway's events are from the limit of the server below it: a bare uWS handler that
 * takes the same frames from the same plugins and writes the same bytes to the same readers, each
 * event as it comes. A row without an aim holds against the same handler when it gathers what comes
 * in one turn of its loop, as the gateway does: what is left there is the price of parsing, checking
 * and keeping an event, of which that handler does nothing.
 */
import type { Row } from '../measure/report.js';
import { alternate } from '../measure/rounds.js';
import type { Bench, BenchOptions } from './bench.js';
import { againstVariant, comparisonRows, eventsRound } from './events-comparison.js';

export const eventsCeiling: Bench = {
  name: 'events-ceiling',
  summary: 'terminal events to SSE streams, against a bare uWS handler that writes the same bytes',
  needs: [],
  run,
};

const bench = 'events-ceiling';
const aim = { is: 'at least', of: 'ratio', bound: 0.8 } as const;
const gathering = 'bare, batched';

async function run(options: BenchOptions): Promise<Row[]> {
  const sides = ['gateway', 'bare', gathering] as const;
  const measured = await alternate(sides, options.rounds, (side) =>
    eventsRound(bench, side, options),
  );
  return [
    ...comparisonRows(bench, measured.gateway, measured.bare, 'bare', aim),
    againstVariant(bench, measured.gateway, measured[gathering], gathering),
  ];
}
