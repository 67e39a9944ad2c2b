import t from 'tap';
import { stretchesIn, summarizeProfile } from '../../bench/measure/cpu-profile.js';

const frame = (functionName: string, url = '') => ({ functionName, url, lineNumber: 9 });

t.test('shares are of the busy time; a function counts once a sample', (t) => {
  const summary = summarizeProfile({
    nodes: [
      { id: 1, callFrame: frame('(root)'), children: [2, 3] },
      { id: 2, callFrame: frame('(idle)') },
      { id: 3, callFrame: frame('serve', 'file:///a/src/http/server.js'), children: [4] },
      { id: 4, callFrame: frame('', 'file:///a/src/store/put.js'), children: [5] },
      { id: 5, callFrame: frame('serve', 'file:///a/src/http/server.js') },
    ],
    samples: [2, 3, 4, 5],
    timeDeltas: [50, 10, 30, 10],
  });
  t.equal(summary.busyShare, 0.5);
  t.strictSame(summary.self, [
    { place: '(anonymous) store/put.js:10', share: 0.6 },
    { place: 'serve http/server.js:10', share: 0.4 },
  ]);
  t.strictSame(summary.inclusive, [
    { place: 'serve http/server.js:10', share: 1 },
    { place: '(root)', share: 1 },
    { place: '(anonymous) store/put.js:10', share: 0.8 },
  ]);
  t.end();
});

t.test(
  'a stretch goes from the first sample in a file to the next one outside it; waiting for a processor is no work',
  (t) => {
    const stretches = stretchesIn(
      {
        nodes: [
          { id: 1, callFrame: frame('(root)'), children: [2, 3] },
          { id: 2, callFrame: frame('serve', 'file:///a/src/http/server.js') },
          { id: 3, callFrame: frame('fill', 'file:///a/src/store/filler.js'), children: [4] },
          { id: 4, callFrame: frame('postMessage') },
        ],
        samples: [2, 3, 2, 3, 4, 4, 2],
        timeDeltas: [0, 1_000, 125, 1_000, 250, 9_000, 250],
      },
      ['store/filler.js'],
      250,
    );
    t.strictSame(stretches, [
      { clockMs: 9.5, processorMs: 1 },
      { clockMs: 0.125, processorMs: 0.125 },
    ]);
    t.end();
  },
);
