import assert from 'node:assert/strict';
import fc from 'fast-check';
import t from 'tap';
import { HeldEvents, type HeldEvent } from '../../src/events/held-events.js';

const blocks = Array.from({ length: 4 }, (_, n) =>
  Uint8Array.from({ length: 50 }, (_, i) => n + i),
);

t.test('the columns hold what a list of events would, oldest first', async () => {
  const steps = fc.array(fc.record({ pushed: fc.nat(100), dropped: fc.nat(100) }));
  fc.assert(
    fc.property(steps, (steps) => {
      const held = new HeldEvents();
      const model: HeldEvent[] = [];
      let count = 0;
      for (const { pushed, dropped } of steps) {
        for (let i = 0; i < pushed; i++) {
          const event = eventOf(count++);
          held.push(event);
          model.push(event);
        }
        for (let i = Math.min(dropped, model.length); i > 0; i--) {
          held.shift();
          model.shift();
        }
        assert.equal(held.length, model.length);
        model.forEach((event, index) => {
          const { at, source, block, begin, end } = event;
          assert.equal(held.atOf(index), at);
          assert.equal(held.sourceOf(index), source);
          assert.equal(held.sizeOf(index), end - begin);
          assert.deepEqual(held.bytesOf(index), block.subarray(begin, end));
          assert.deepEqual(held.bytesOf(index, 20), block.subarray(begin, begin + 20));
          if (index === 0) return;
          const isNext = model[index - 1]?.block === block && model[index - 1]?.end === begin;
          assert.equal(held.isNextTo(index - 1, index), isNext);
        });
      }
    }),
    { numRuns: 50 },
  );
});

/** Of the three events of a block, the second lies beside the first. */
function eventOf(count: number): HeldEvent {
  const begin = [0, 10, 30][count % 3] as number;
  const block = blocks[Math.floor(count / 3) % blocks.length] as Uint8Array;
  return { at: count + 0.5, source: `s${count % 5}`, block, begin, end: begin + 10 };
}
