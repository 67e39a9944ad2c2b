import assert from 'node:assert/strict';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import t from 'tap';
import { ReplayMemory } from '../../src/events/replay-memory.js';
import { EventRing } from '../../src/events/ring.js';

const limits = { replayEventsMax: 5, replayAgeMs: 100, replayBytesPerUser: 1_000 };

t.test('it gives what came after a cursor, of one source, in order', async (t) => {
  const { seqs, push } = setUp();
  push('a', 'b', 'a', 'a');
  t.strictSame(seqs(0, 'a'), [1, 3, 4]);
  t.strictSame(seqs(1, 'a'), [3, 4]);
  t.strictSame(seqs(4, 'a'), []);
  t.strictSame(seqs(0, 'b'), [2]);
  t.strictSame(seqs(0, 'c'), []);
});

t.test('a cursor that is ahead of the ring is one of another life', async (t) => {
  const { seqs, push } = setUp();
  t.strictSame(seqs(0, 'a'), []);
  t.equal(seqs(1, 'a'), undefined);
  push('a');
  t.strictSame(seqs(1, 'a'), []);
  t.equal(seqs(2, 'a'), undefined);
});

t.test('the oldest leave beyond the number, and are missed by their own source only', async (t) => {
  const { seqs, push } = setUp();
  push('a', 'b', 'b', 'b', 'b', 'b', 'b');
  t.equal(seqs(0, 'a'), undefined, '1 is gone');
  t.strictSame(seqs(1, 'a'), [], 'nothing of its own after 1 is gone');
  t.equal(seqs(1, 'b'), undefined, '2 is gone');
  t.strictSame(seqs(2, 'b'), [3, 4, 5, 6, 7]);
});

t.test('what left of a source counts for it alone, as long as there are few sources', async (t) => {
  const ring = new EventRing({ ...limits, replayEventsMax: 2 }, 'e');
  const frame = new Uint8Array(10);
  for (const [i, source] of ['a', 'b', 'a', 'a', 'a'].entries()) {
    ring.push({ seq: i + 1, at: 0, source, frame });
  }
  t.equal(ring.reaches(2, 'b', 0), true, 'all of b is read');
  t.equal(ring.reaches(1, 'b', 0), false);
  t.equal(ring.reaches(3, 'a', 0), true);
  t.equal(ring.reaches(2, 'a', 0), false);
});

t.test('the old leave by age, also when nothing new comes', async (t) => {
  const { seqs, push, at } = setUp();
  push('a');
  at(50);
  push('a');
  at(100);
  t.strictSame(seqs(0, 'a'), [1, 2]);
  at(101);
  t.equal(seqs(0, 'a'), undefined);
  t.strictSame(seqs(1, 'a'), [2]);
  at(1_000);
  t.equal(seqs(1, 'a'), undefined);
  t.strictSame(seqs(2, 'a'), []);
});

t.test('it equals a plain list of all events, cut by number and age', async () => {
  const step = fc.oneof(
    fc.record({ source: fc.constantFrom('a', 'b', 'c') }),
    fc.record({ wait: fc.integer({ min: 0, max: 60 }) }),
    fc.record({ ask: fc.integer({ min: 0, max: 30 }), of: fc.constantFrom('a', 'b', 'c') }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
      const { seqs, push, at, now } = setUp();
      const all: { seq: number; source: string; at: number }[] = [];
      for (const each of steps) {
        if ('source' in each) {
          push(each.source);
          all.push({ seq: all.length + 1, source: each.source, at: now() });
        } else if ('wait' in each) at(now() + each.wait);
        else {
          const wanted = all.filter(({ seq, source }) => seq > each.ask && source === each.of);
          const isKept = (event: (typeof all)[number]) =>
            event.seq > all.length - limits.replayEventsMax &&
            now() - event.at <= limits.replayAgeMs;
          const expected =
            each.ask > all.length || !wanted.every(isKept)
              ? undefined
              : wanted.map(({ seq }) => seq);
          assert.deepEqual(seqs(each.ask, each.of), expected);
        }
      }
    }),
    { numRuns: 1_000 },
  );
});

t.test('readers at the same place share their slice, until another event comes', (t) => {
  const { push, next } = setUp();
  push('a', 'b', 'a');
  const slice = next(0, 'a');
  t.equal(next(0, 'a'), slice);
  t.not(next(0, 'b'), slice, 'another source');
  t.not(next(1, 'a')?.lastSeq, 1, 'another place');
  push('a');
  t.match(next(0, 'a'), { lastSeq: 4, remaining: 0 });
  t.end();
});

function setUp() {
  const ring = new EventRing(limits, 'e');
  let time = 0;
  return {
    push: (...sources: string[]) => {
      for (const source of sources) {
        const seq = ring.lastSeq + 1;
        ring.push({ seq, at: time, source, frame: Buffer.from(`${seq} `) });
      }
    },
    /** @returns the seqs that a reader at `after` gets, slice by slice. */
    seqs: (after: number, source: string): number[] | undefined => {
      let text = '';
      for (let at = after, remaining = 1; remaining > 0;) {
        const slice = ring.next(at, source, time);
        if (slice === undefined) return undefined;
        text += Buffer.from(slice.bytes).toString();
        ({ lastSeq: at, remaining } = slice);
      }
      return [...text.matchAll(/\d+/g)].map(([seq]) => Number(seq));
    },
    next: (after: number, source: string) => ring.next(after, source, time),
    at: (to: number) => {
      time = to;
    },
    now: () => time,
  };
}

const frame = (length: number): Uint8Array => new Uint8Array(length);

/** A ring in a memory that other rings may share. */
function ringIn(memory: ReplayMemory) {
  const ring = new EventRing({ ...limits, replayEventsMax: 1_000 }, 'ab', memory);
  return {
    ring,
    push: (length: number, source = 'a'): void => {
      ring.push({ seq: ring.lastSeq + 1, at: 0, source, frame: frame(length) });
      memory.trim();
    },
    /** @returns seq of the oldest event that the ring still has. */
    oldest: (): number => {
      let seq = 0;
      while (!ring.reaches(seq, 'a', 0)) seq++;
      return seq + 1;
    },
  };
}

t.test('the oldest leave beyond the bytes of a user, the newest never', async (t) => {
  const memory = new ReplayMemory(Infinity);
  const { push, oldest, ring } = ringIn(memory);
  for (let count = 0; count < 4; count++) push(300);
  t.equal(oldest(), 2);
  t.equal(memory.bytes, 900);
  push(5_000);
  t.equal(oldest(), 5, 'however large it is');
  t.equal(memory.bytes, 5_000);
  push(10);
  t.equal(memory.bytes, 10);
  ring.clear();
  t.equal(memory.bytes, 0);
});

t.test('beyond the bytes of all users, the largest lose their oldest', async (t) => {
  const memory = new ReplayMemory(2_000);
  const small = ringIn(memory);
  for (let count = 0; count < 3; count++) small.push(100);
  const large = [ringIn(memory), ringIn(memory), ringIn(memory)];
  for (let count = 0; count < 500; count++) {
    for (const { push } of large) push(90);
    t.ok(memory.bytes <= 2_000);
  }
  t.equal(small.oldest(), 1, 'the user with few events has all of them');
  for (const { ring, oldest } of large) {
    const kept = ring.lastSeq - oldest() + 1;
    t.ok(kept >= 2 && kept <= 11, `${kept} events`);
  }
});

t.test('a memory that is too small for one event of each keeps what it can', async (t) => {
  const memory = new ReplayMemory(250);
  const rings = Array.from({ length: 5 }, () => ringIn(memory));
  for (const { push } of rings) push(100);
  t.ok(memory.bytes <= 250);
});

t.test(
  'the sources that have lost events are not remembered for ever, and none is forgotten wrongly',
  async (t) => {
    const { ring } = ringIn(new ReplayMemory(Infinity));
    for (let count = 1; count <= 5_000; count++) {
      ring.push({ seq: count, at: 0, source: `s${count}`, frame: frame(100) });
    }
    t.equal(ring.reaches(0, 's1', 0), false);
    t.equal(ring.reaches(4_980, 's4980', 0), true);
    t.equal(ring.reaches(4_999, 's1', 0), true, 'nothing was lost after that');
  },
);

t.test('every frame comes out as it was, wherever it lies', async () => {
  const frames = fc.array(
    fc.record({ source: fc.constantFrom('a', 'a', 'b'), length: fc.nat({ max: 3_000 }) }),
    { minLength: 1, maxLength: 120 },
  );
  const many = { replayEventsMax: 1_000, replayAgeMs: 100, replayBytesPerUser: 1_000_000 };
  const passed = new Uint8Array(3_000);
  fc.assert(
    fc.property(frames, (frames) => {
      const ring = new EventRing(many, 'e');
      frames.forEach(({ source, length }, index) => {
        // The next frame overwrites these bytes: the ring has to copy them.
        const frame = passed.subarray(0, length).fill(index);
        ring.push({ seq: index + 1, at: 0, source, frame });
      });
      const expected = frames.flatMap(({ source, length }, index) =>
        source === 'a' ? [Buffer.alloc(length, index)] : [],
      );
      const slices: Uint8Array[] = [];
      for (let at = 0, remaining = 1; remaining > 0;) {
        const slice = ring.next(at, 'a', 0);
        assert.ok(slice);
        slices.push(slice.bytes);
        ({ lastSeq: at, remaining } = slice);
      }
      assert.ok(Buffer.concat(slices).equals(Buffer.concat(expected)));
    }),
  );
});

t.test('while events leave, the next ones of every reader are those that were pushed', async () => {
  const step = fc.record({
    source: fc.constantFrom('a', 'a', 'b'),
    length: fc.oneof(fc.integer({ min: 1, max: 60 }), fc.integer({ min: 1, max: 2_000 })),
    lag: fc.nat(30),
  });
  const few = { replayEventsMax: 20, replayAgeMs: 100, replayBytesPerUser: 8_000 };
  fc.assert(
    fc.property(fc.array(step, { minLength: 50, maxLength: 300 }), (steps) => {
      const ring = new EventRing(few, 'e');
      steps.forEach(({ source, length, lag }, index) => {
        ring.push({ seq: index + 1, at: 0, source, frame: Buffer.alloc(length, index) });
        const after = Math.max(0, index - lag);
        const slice = ring.next(after, 'a', 0);
        if (slice === undefined) return;
        const expected = steps.slice(after, index + 1).flatMap(({ source, length }, at) => {
          return source === 'a' ? [Buffer.alloc(length, after + at)] : [];
        });
        assert.ok(Buffer.concat(expected).equals(slice.bytes));
      });
    }),
  );
});

t.test('a full ring uses the memory of what left again', async (t) => {
  const ring = new EventRing({ ...limits, replayEventsMax: 100, replayBytesPerUser: 1e7 }, 'e');
  const blocks = new Set<ArrayBufferLike>();
  for (let seq = 1; seq <= 10_000; seq++) {
    ring.push({ seq, at: 0, source: 'a', frame: frame(500) });
    const slice = ring.next(seq - 1, 'a', 0);
    if (seq > 1_000 && slice !== undefined) blocks.add(slice.bytes.buffer);
  }
  t.ok(blocks.size <= 10, `${blocks.size} blocks`);
});

t.test(
  'memory is in proportion to the frames that are held, and none is left by what is old',
  async (t) => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    /** Another thread frees what the first collection found; the second collection waits for that thread. */
    const held = (): number => {
      collect();
      collect();
      return process.memoryUsage().arrayBuffers;
    };
    const heap = (): number => process.memoryUsage().heapUsed;
    const before = held();
    const memory = new ReplayMemory(Infinity);
    const large = { ...limits, replayEventsMax: 1_000, replayBytesPerUser: 300_000 };
    const rings = Array.from({ length: 200 }, () => new EventRing(large, 'e', memory));
    const pushAll = (count: number, length: number): void => {
      for (let seq = 1; seq <= count; seq++) {
        for (const ring of rings) ring.push({ seq, at: 0, source: 'a', frame: frame(length) });
      }
    };
    pushAll(1, 500);
    const few = held() - before;
    const heapBefore = heap();
    t.ok(few < 200 * 1_500, `${few} bytes for 200 users with one event`);
    pushAll(500, 500);
    const many = held() - before;
    t.ok(many < 1.6 * memory.bytes, `${many} bytes for ${memory.bytes} of frames`);
    // Each a little longer than half a block.
    pushAll(50, 33_000);
    const long = held() - before;
    t.ok(long < 1.6 * memory.bytes, `${long} bytes for ${memory.bytes} of long frames`);
    for (const ring of rings) ring.age(1_000);
    const none = held() - before;
    t.ok(none < 100_000, `${none} bytes for nothing`);
    const heapGrowth = heap() - heapBefore;
    t.ok(heapGrowth < 1_000_000, `${heapGrowth} bytes of the heap for nothing`);
  },
);

t.test('events that lie side by side are read without a copy', async (t) => {
  const ring = new EventRing({ ...limits, replayEventsMax: 100, replayBytesPerUser: 1e7 }, 'e');
  const frame = new Uint8Array(9_000);
  for (let seq = 1; seq <= 40; seq++) ring.push({ seq, at: 0, source: 'a', frame });
  const blocks = new Set<ArrayBufferLike>();
  let read = 0;
  let slices = 0;
  for (let seq = 0; seq < 40; slices++) {
    const slice = ring.next(seq, 'a', 0);
    seq = slice?.lastSeq ?? Infinity;
    read += slice?.bytes.length ?? 0;
    if (slice && slice.bytes.length > 16_384) blocks.add(slice.bytes.buffer);
    t.equal(slice?.remaining, 40 - seq);
  }
  t.equal(read, 40 * frame.length);
  t.ok(slices < 12, 'few of them are small');
  const again = ring.next(33, 'a', 0)?.bytes.buffer;
  t.ok(again && blocks.has(again), 'of the same memory');
});
