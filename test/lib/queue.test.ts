import fc from 'fast-check';
import t from 'tap';
import { Queue } from '../../src/lib/queue.js';

t.test('a queue is a list that is read from its head', (t) => {
  fc.assert(
    fc.property(
      fc.nat(3_000),
      fc.array(fc.record({ pushed: fc.nat(1_500), taken: fc.nat(3_000) })),
      (given, steps) => {
        let count = 0;
        const items = (length: number) => Array.from({ length }, () => ({ number: count++ }));
        const first = items(given);
        const model = [...first];
        const queue = new Queue(first);
        for (const { pushed, taken } of steps) {
          for (const item of items(pushed)) {
            model.push(item);
            queue.push(item);
          }
          for (const item of [
            ...model.splice(0, taken),
            ...(model.length > 0 ? [] : [undefined]),
          ]) {
            if (queue.shift() !== item) return false;
          }
          if (queue.length !== model.length) return false;
        }
        return true;
      },
    ),
  );
  t.end();
});
