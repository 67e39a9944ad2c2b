import t from 'tap';
import { toRow, toTable, type Aim } from '../../bench/measure/report.js';

const throughput = { bench: 'b', figure: 'f', unit: '1/s', ours: [90, 100, 95], other: [100] };

t.test('a ratio is of the medians, and judged against its bound', async (t) => {
  const aim = { is: 'at least', of: 'ratio', bound: 0.95 } as const;
  t.match(toRow({ ...throughput, aim }), { ratio: 0.95, aim: '≥ 0.95×', met: true });
  t.match(toRow({ ...throughput, aim: { ...aim, bound: 0.96 } }), { met: false });
  t.match(toRow({ ...throughput, aim: { ...aim, is: 'at most' } }), { aim: '≤ 0.95×', met: true });
});

t.test('an aim for values is judged by every sample, not by the median', async (t) => {
  const met = (ours: number[], aim: Omit<Aim, 'of'>) =>
    toRow({ bench: 'b', figure: 'f', unit: '', ours, aim: { ...aim, of: 'value' } }).met;
  t.equal(met([0, 0, 1], { is: 'at most', bound: 0 }), false);
  t.equal(met([0, 0, 0], { is: 'at most', bound: 0 }), true);
  t.equal(met([1200, 1200, 1199], { is: 'exactly', bound: 1200 }), false);
  t.equal(met([1200, 1201, 1200], { is: 'exactly', bound: 1200 }), false);
  t.equal(met([1200, 1200], { is: 'exactly', bound: 1200 }), true);
  t.equal(met([9, 12], { is: 'at least', bound: 10 }), false);
});

t.test('a figure in doubt is not judged, and says why', async (t) => {
  const aim = { is: 'at least', of: 'ratio', bound: 0.1 } as const;
  const row = toRow({ ...throughput, aim, doubt: 'generator-bound', note: 'closed loop' });
  t.match(row, { met: undefined, note: 'generator-bound; closed loop' });
});

t.test('a ratio without another side is a mistake in the bench', async (t) => {
  const aim = { is: 'at least', of: 'ratio', bound: 1 } as const;
  t.throws(() => toRow({ bench: 'b', figure: 'f', unit: '', ours: [1], aim }), /other side/);
});

t.test(
  'the table shows median, least and most, the ratio and the verdict, with notes below',
  async (t) => {
    const aim = { is: 'at least', of: 'ratio', bound: 1 } as const;
    const table = toTable([
      toRow({ ...throughput, otherName: 'bare', aim, note: 'a note' }),
      toRow({ bench: 'c', figure: 'g', unit: 'ms', ours: [0.1234] }),
    ]);
    const [titles = '', , first = '', second = '', note = ''] = table.split('\n');
    t.match(
      titles,
      /^bench +figure +unit +ours \(min–max\) +other side \(min–max\) +ratio +aim +met$/,
    );
    t.match(first, /^b +f +1\/s +95 \(90–100\) +bare 100 +0\.95 +≥ 1× +NO +\[1\]$/);
    t.match(second, /^c +g +ms +0\.12$/);
    t.equal(note, '[1] a note');
  },
);
