import assert from 'node:assert/strict';
import fc from 'fast-check';
import t from 'tap';
import { digestOf, FrameDigests } from '../../src/plugins/frame-digests.js';

t.test('a source has the digests of its newest thousand frames that are not durable', async () => {
  const step = fc.oneof(
    fc.record({ to: fc.constant('set'), seq: fc.nat(1_500) }),
    fc.record({ to: fc.constant('set on'), seq: fc.nat(1_200) }),
    fc.record({ to: fc.constant('drop'), seq: fc.nat(1_500) }),
  );
  fc.assert(
    fc.property(fc.array(step), (steps) => {
      const digests = new FrameDigests();
      let model: [number, string][] = [];
      let count = 0;
      const set = (seq: number): void => {
        const digest = `digest ${count++}`;
        digests.set(seq, digest);
        model = [...model.filter(([each]) => each !== seq), [seq, digest] as [number, string]];
        model = model.sort(([a], [b]) => a - b).slice(-1_000);
      };
      for (const { to, seq } of steps) {
        if (to === 'set') {
          set(seq);
        } else if (to === 'set on') {
          const newest = model.at(-1)?.[0] ?? 0;
          for (let next = newest + 1; next <= newest + seq; next++) set(next);
        } else {
          digests.dropUpTo(seq);
          model = model.filter(([each]) => each > seq);
        }
        assert.deepEqual([...digests.toMap()], model);
      }
    }),
    { numRuns: 20 },
  );
});

t.test('a digest is that of the bytes', async (t) => {
  const bytesOf = (text: string) => ({ whole: new TextEncoder().encode(text) });
  t.equal(digestOf(bytesOf('{"seq":1}')), digestOf(bytesOf('{"seq":1}')));
  t.not(digestOf(bytesOf('{"seq":1}')), digestOf(bytesOf('{"seq":2}')));
  t.equal(digestOf(bytesOf('x'.repeat(100_000))).length, 28);
});
