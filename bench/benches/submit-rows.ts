/** The rows of the benches of submit, from what was measured on both sides. */
import { type Row, type RowInput, toRow } from '../measure/report.js';
import { type Figures, samplesOf } from '../measure/rounds.js';

/** Bounds of the ratios, and of our own main thread. */
export interface SubmitAims {
  readonly throughputAtLeast: number;
  readonly p99AtMost: number;
  readonly aloneP50AtMost?: number;
  readonly mainThreadUsAtMost?: number;
}

type Sides = Readonly<Record<'ours' | 'other', readonly Figures[]>>;

export interface SubmitMeasured {
  readonly bench: string;
  readonly otherName: string;
  readonly aim: SubmitAims;
  readonly throughput: Sides;
  readonly openLoop: Sides;
  readonly alone: Sides | undefined;
  readonly wrk: Sides | undefined;
  /** Why no figure may be judged, and why the throughput may not. */
  readonly wrong: string | undefined;
  readonly bound: string | undefined;
  readonly throughputNote: string;
  readonly openLoopNote: string;
}

export function submitRows(measured: SubmitMeasured): Row[] {
  const { bench, otherName, aim, throughput, openLoop, alone, wrk } = measured;
  const row = (
    figure: string,
    unit: string,
    sides: Sides,
    name: string,
    more: Partial<RowInput> = {},
  ): Row =>
    toRow({
      bench,
      figure,
      unit,
      ours: samplesOf(sides.ours, name),
      other: samplesOf(sides.other, name),
      otherName,
      doubt: measured.wrong,
      ...more,
    });
  const ratio = (is: 'at least' | 'at most', bound: number | undefined): Partial<RowInput> =>
    bound === undefined ? {} : { aim: { is, of: 'ratio', bound } };
  const doubts = [measured.wrong, measured.bound].filter((text) => text !== undefined);
  const { mainThreadUsAtMost } = aim;
  const rows = [
    row('throughput', 'requests/s', throughput, 'requestsPerSecond', {
      ...ratio('at least', aim.throughputAtLeast),
      doubt: doubts.join('; ') || undefined,
      note: measured.throughputNote,
    }),
    row('main thread', 'µs/request', throughput, 'loopUs', {
      ...(mainThreadUsAtMost === undefined
        ? {}
        : { aim: { is: 'at most', of: 'value', bound: mainThreadUsAtMost } }),
      note: 'processor time of the thread that answers, in the run of the throughput',
    }),
    row('p50', 'ms', openLoop, 'p50Ms', { note: measured.openLoopNote }),
    row('p99', 'ms', openLoop, 'p99Ms', {
      ...ratio('at most', aim.p99AtMost),
      note: measured.openLoopNote,
    }),
  ];
  if (alone !== undefined) {
    const note = 'closed loop: nobody else to share a flush with';
    const aimed = ratio('at most', aim.aloneP50AtMost);
    rows.push(row('one connection, p50', 'ms', alone, 'p50Ms', { ...aimed, note }));
  }
  if (wrk === undefined) return rows;
  const note = 'measured by wrk, closed loop';
  return [
    ...rows,
    row('throughput by wrk', 'requests/s', wrk, 'requestsPerSecond', {
      ...ratio('at least', aim.throughputAtLeast),
      note,
    }),
    row('p99 by wrk', 'ms', wrk, 'p99Ms', { note }),
  ];
}
