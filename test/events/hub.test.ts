import assert from 'node:assert/strict';
import fc from 'fast-check';
import t from 'tap';
import { readCursor } from '../../src/events/cursor.js';
import { EventHub, ringsPerStep } from '../../src/events/hub.js';
import { Subscriber } from '../../src/events/subscriber.js';
import { Counter } from '../../src/lib/instruments.js';
import { nextTurn } from '../../src/lib/turn.js';
import type { Limits } from '../../src/limits.js';
import { sourceKey } from '../../src/model/source-name.js';
import { shippedLimits } from '../support/shipped-limits.js';
import { SimulatedClock } from '../support/simulated-clock.js';
import { SimulatedGateway } from '../support/simulated-gateway.js';
import { FakeSink } from './fake-sink.js';

t.test('events are numbered per user from 1, under the epoch of this memory', async (t) => {
  const { hub, publish } = setUp();
  publish('a');
  publish('b');
  publish('a', 'u2');
  t.equal(hub.ringOf('u1').lastSeq, 2);
  t.equal(hub.ringOf('u2').lastSeq, 1);
  t.match(hub.ringOf('u1').epoch, /^[0-9a-f]{12}$/);
  t.not(hub.ringOf('u1').epoch, setUp().hub.ringOf('u1').epoch);
  const slice = hub.ringOf('u2').next(0, key('a'), 0);
  const text = Buffer.from(slice?.bytes ?? '').toString();
  t.equal(readCursor(/^id: (.*)$/m.exec(text)?.[1] ?? '', hub.ringOf('u2').epoch), 1);
});

t.test('a user who was deleted and comes back in this life has another epoch', async (t) => {
  const { hub, publish } = setUp();
  publish('a');
  const { epoch } = hub.ringOf('u1');
  hub.forget('u1');
  publish('a');
  t.equal(hub.ringOf('u1').lastSeq, 1);
  t.not(hub.ringOf('u1').epoch, epoch, 'a cursor of before leads to no event of after');
});

t.test('a reader gets the events of its own source and user', async (t) => {
  const { publish, subscribe } = setUp();
  const reader = subscribe('a');
  publish('a');
  publish('b');
  publish('a', 'u2');
  publish('a');
  await nextTurn();
  t.strictSame(reader.sink.seqs, [1, 3]);
});

t.test('events of one turn leave in one write to each reader', async (t) => {
  const { publish, subscribe } = setUp();
  const one = subscribe('a');
  const two = subscribe('a');
  for (let i = 0; i < 20; i++) publish('a');
  t.strictSame(one.sink.writes, [], 'not within the turn');
  await nextTurn();
  t.equal(one.sink.writes.length, 1);
  t.equal(two.sink.writes[0], one.sink.writes[0]);
  t.equal(one.sink.seqs.length, 20);
  await nextTurn();
  t.equal(one.sink.writes.length, 1);
});

t.test('a turn that brings more than the ring holds loses nothing', async (t) => {
  const { publish, subscribe } = setUp({ replayEventsMax: 10 });
  const reader = subscribe('a');
  for (let i = 0; i < 95; i++) publish('a');
  await nextTurn();
  t.equal(reader.sink.wasAborted, false);
  t.strictSame(reader.sink.seqs, upTo(95));
});

t.test('a turn that brings more bytes than the ring holds loses nothing', async (t) => {
  const { publish, subscribe } = setUp({ replayBytesPerUser: 10_000 });
  const reader = subscribe('a');
  for (let i = 0; i < 40; i++) publish('a', 'u1', 'x'.repeat(1_000));
  await nextTurn();
  t.equal(reader.sink.wasAborted, false);
  t.strictSame(reader.sink.seqs, upTo(40));
});

t.test('a large event that comes while the memory of all users is full is not lost', async (t) => {
  const { publish, subscribe } = setUp({ replayBytesMax: 20_000 });
  for (let i = 0; i < 100; i++) publish('a', `other ${i}`);
  await nextTurn();
  const reader = subscribe('a');
  publish('a', 'u1', 'x'.repeat(3_000));
  await nextTurn();
  t.equal(reader.sink.wasAborted, false);
  t.strictSame(reader.sink.seqs, [1]);
});

t.test('a turn in which another terminal fills the ring loses nothing', async (t) => {
  const { publish, subscribe } = setUp({ replayEventsMax: 10 });
  const reader = subscribe('a');
  publish('a');
  for (let i = 0; i < 95; i++) publish('b');
  publish('a');
  await nextTurn();
  t.equal(reader.sink.wasAborted, false);
  t.strictSame(reader.sink.seqs, [1, 97]);
});

t.test('events of another terminal do not count as waiting for a blocked reader', async (t) => {
  const { publish, subscribe } = setUp();
  const reader = subscribe('a');
  reader.sink.room = 1;
  publish('a');
  await nextTurn();
  for (let i = 0; i < 300; i++) publish('b');
  publish('a');
  await nextTurn();
  t.equal(reader.sink.wasAborted, false);
  reader.drain();
  t.strictSame(reader.sink.seqs, [1, 302]);
});

t.test(
  'while the socket is blocked nothing is written; drained, it gets all it missed',
  async (t) => {
    const { publish, subscribe } = setUp();
    const reader = subscribe('a');
    reader.sink.room = 1;
    publish('a');
    await nextTurn();
    for (let i = 0; i < 256; i++) publish('a');
    await nextTurn();
    t.strictSame(reader.sink.seqs, [1]);
    t.equal(reader.sink.wasAborted, false, '256 may wait');
    reader.drain();
    t.strictSame(reader.sink.seqs, upTo(257));
  },
);

t.test('at the 257th pending event the reader is closed, not skipped over', async (t) => {
  const { publish, subscribe } = setUp();
  const reader = subscribe('a');
  reader.sink.room = 0;
  for (let i = 0; i < 257; i++) publish('a');
  await nextTurn();
  t.equal(reader.sink.wasAborted, true);
  t.strictSame(reader.sink.seqs, []);
});

t.test('what was handed on before the socket blocked is not pending', async (t) => {
  const { publish, subscribe } = setUp();
  const reader = subscribe('a');
  reader.sink.room = 1;
  for (let i = 0; i < 200; i++) publish('a');
  await nextTurn();
  const handedOn = reader.sink.seqs.length;
  t.ok(handedOn > 50);
  for (let i = 200; i < handedOn + 256; i++) publish('a');
  await nextTurn();
  t.equal(reader.sink.wasAborted, false);
  publish('a');
  await nextTurn();
  t.equal(reader.sink.wasAborted, true);
});

t.test('what is replayed is not pending, however much it is', async (t) => {
  const { publish, resume } = setUp();
  for (let i = 0; i < 900; i++) publish('a');
  await nextTurn();
  const reader = resume('a', 0, 1);
  t.ok(reader.sink.isBlocked());
  publish('a');
  await nextTurn();
  t.equal(reader.sink.wasAborted, false);
  reader.drain();
  t.strictSame(reader.sink.seqs, upTo(901));
});

for (const [limit, change] of [
  ['events', { replayEventsMax: 100 }],
  ['bytes', { replayBytesPerUser: 100 * 9_200 }],
] as const) {
  t.test(`no replay that waits for its turn is overtaken by the ring: ${limit}`, async (t) => {
    const { publish, resume, turns } = setUp(change);
    const held = Array.from({ length: 90 }, () => publish('a', 'u1', 'x'.repeat(9_000)));
    const reader = resume('a', 0, Infinity, turns);
    t.ok(reader.sink.seqs.length < 90, 'the rest waits for its turn');
    for (let i = 0; i < 3; i++) {
      for (let j = 0; j < 90; j++) publish('b', 'u1', 'x'.repeat(limit === 'bytes' ? 9_000 : 0));
      await nextTurn();
    }
    while (turns.length > 0) if (turns[0]?.()) turns.shift();
    t.notOk(reader.sink.wasAborted);
    t.strictSame(reader.sink.seqs, held);
  });
}

t.test('live events wait for no turn, in however many slices they leave', async (t) => {
  const { publish, subscribe } = setUp({ replayBytesPerUser: 600_000 });
  const reader = subscribe('a');
  reader.subscriber.takeTurns = () => t.fail('it takes turns');
  for (let i = 0; i < 200; i++) publish('a', 'u1', 'x'.repeat(9_000));
  await nextTurn();
  t.strictSame(reader.sink.seqs, upTo(200));
});

t.test(
  'a blocked reader whose next event has left the ring is closed when it drains',
  async (t) => {
    const { publish, subscribe } = setUp({ replayEventsMax: 10 });
    const reader = subscribe('a');
    reader.sink.room = 0;
    publish('a');
    for (let i = 0; i < 10; i++) publish('b');
    await nextTurn();
    reader.drain();
    t.equal(reader.sink.wasAborted, true);
  },
);

t.test('what a write hands over is bounded, so that a blocked socket holds little', async (t) => {
  const { publish, subscribe, resume } = setUp();
  for (let i = 0; i < 200; i++) publish('a', 'u1', 'x'.repeat(4_000));
  const reader = resume('a', 0);
  reader.sink.room = 1;
  reader.drain();
  const longest = Math.max(...reader.sink.writes.map(({ length }) => length));
  t.ok(longest < 64 * 1024 + 5_000, String(longest));
  t.equal(reader.subscriber.pending, 0, 'what is replayed is held by the ring');
  subscribe('a');
});

t.test('a reader that left gets nothing and is not counted', async (t) => {
  const { hub, publish, subscribe } = setUp();
  const reader = subscribe('a');
  const other = subscribe('a');
  t.equal(hub.subscriberCount, 2);
  publish('a');
  hub.unsubscribe('u1', reader.subscriber);
  await nextTurn();
  t.strictSame(reader.sink.seqs, []);
  t.strictSame(other.sink.seqs, [1]);
  t.equal(hub.subscriberCount, 1);
  hub.unsubscribe('u1', other.subscriber);
  hub.unsubscribe('u1', other.subscriber);
  t.equal(hub.subscriberCount, 0);
});

t.test(
  'the seam: a reader gets every event of its source once and in order, or a gap',
  async () => {
    const sources = ['a', 'b', 'c'];
    const step = fc.oneof(
      {
        weight: 6,
        arbitrary: fc.record({
          publish: fc.constantFrom(...sources),
          times: fc.integer({ min: 1, max: 12 }),
        }),
      },
      { weight: 2, arbitrary: fc.record({ room: fc.constantFrom(0, 1, 400, 2_000, Infinity) }) },
      { weight: 2, arbitrary: fc.record({ drain: fc.boolean() }) },
      { weight: 2, arbitrary: fc.record({ leave: fc.boolean() }) },
      { weight: 2, arbitrary: fc.record({ back: fc.nat(8) }) },
      { weight: 3, arbitrary: fc.record({ turn: fc.constant(true) }) },
      { weight: 2, arbitrary: fc.record({ wait: fc.integer({ min: 1, max: 3_000 }) }) },
    );
    let gaps = 0;
    let resumed = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
        const limits = { replayEventsMax: 20, replayAgeMs: 1_000, subscriberPendingEventsMax: 8 };
        const world = setUp(limits);
        const published: number[] = [];
        /** The events that the reader has, in pieces without a gap, each of which follows the seq `after`. */
        let pieces: { after: number; seqs: number[] }[] = [{ after: 0, seqs: [] }];
        let reader = world.subscribe('a');
        let taken = 0;
        const collect = (): void => {
          pieces.at(-1)?.seqs.push(...reader.sink.seqs.slice(taken));
          taken = reader.sink.seqs.length;
        };
        for (const each of steps) {
          if ('publish' in each) {
            for (let i = 0; i < each.times; i++) {
              const seq = world.publish(each.publish);
              if (each.publish === 'a') published.push(seq);
            }
          } else if ('room' in each) reader.sink.room = each.room;
          else if ('drain' in each) reader.drain();
          else if ('turn' in each) await nextTurn();
          else if ('wait' in each) world.clock.advance(each.wait);
          else if ('leave' in each) {
            reader.sink.isBroken = true;
            world.hub.unsubscribe('u1', reader.subscriber);
            collect();
          } else if (reader.sink.isClosed()) {
            collect();
            // The reader loses some events that it was given, as a client that crashes does.
            const piece = pieces.at(-1)!;
            piece.seqs.length = Math.max(0, piece.seqs.length - each.back);
            const cursor = piece.seqs.at(-1) ?? piece.after;
            world.hub.unsubscribe('u1', reader.subscriber);
            const ring = world.hub.ringOf('u1');
            const canReplay = ring.reaches(cursor, key('a'), world.clock.monotonic());
            if (canReplay) resumed++;
            else {
              gaps++;
              pieces = [...pieces, { after: ring.lastSeq, seqs: [] }];
            }
            reader = world.resume('a', canReplay ? cursor : ring.lastSeq);
            taken = 0;
          }
        }
        reader.drain();
        await nextTurn();
        collect();
        for (const [index, piece] of pieces.entries()) {
          const isLast = index === pieces.length - 1;
          const end =
            isLast && !reader.sink.isClosed() ? Infinity : (piece.seqs.at(-1) ?? piece.after);
          assert.deepEqual(
            piece.seqs,
            published.filter((seq) => seq > piece.after && seq <= end),
          );
        }
      }),
      { numRuns: 1_000, interruptAfterTimeLimit: 40_000 },
    );
    assert(gaps > 0 && resumed > 0, 'the property saw gaps and replays');
  },
);

t.test('beyond the bytes of all users the oldest leave at the end of a turn', async (t) => {
  const replayBytesMax = 20_000;
  const { hub, publish } = setUp({ replayBytesMax });
  const userIds = Array.from({ length: 20 }, (_, i) => `u${i}`);
  const held = (userId: string): number => {
    const ring = hub.ringOf(userId);
    let oldest = 0;
    while (!ring.reaches(oldest, key('a'), 0)) oldest++;
    return ring.next(oldest, key('a'), 0)?.bytes.length ?? 0;
  };
  for (let i = 0; i < 5; i++) {
    for (const userId of userIds) publish('a', userId);
    await nextTurn();
    const bytes = userIds.reduce((sum, userId) => sum + held(userId), 0);
    t.ok(bytes <= replayBytesMax, `${bytes} bytes`);
  }
});

t.test(
  'events of an idle user leave memory when they are too old, and their number stays',
  async (t) => {
    const { hub, publish, clock } = setUp({ replayAgeMs: 1_000 });
    publish('a');
    publish('a', 'u2');
    clock.advance(600);
    publish('a', 'u2');
    void [...hub.age(() => true)];
    t.equal(hub.ringOf('u1').isEmpty, false);
    clock.advance(401);
    void [...hub.age(() => true)];
    t.equal(hub.ringOf('u1').isEmpty, true);
    t.equal(hub.ringOf('u2').isEmpty, false);
    t.equal(publish('a'), 2, 'the numbers go on');
    t.equal(hub.ringOf('u1').reaches(0, key('a'), clock.monotonic()), false, 'and 1 is missed');
  },
);

t.test(
  'the ring of a user that is gone goes too, once nothing in it can be replayed',
  async (t) => {
    const { hub, publish, clock } = setUp({ replayAgeMs: 1_000 });
    publish('a');
    void [...hub.age(() => false)];
    t.equal(hub.ringOf('u1').lastSeq, 1);
    clock.advance(1_001);
    void [...hub.age(() => false)];
    t.equal(hub.ringOf('u1').lastSeq, 0, 'a new one');
  },
);

t.test(
  'a step ages a bounded number of rings, and the steps together age all of them',
  async (t) => {
    const { hub, publish, clock } = setUp({ replayAgeMs: 1_000 });
    const userIds = Array.from({ length: 2 * ringsPerStep + 1 }, (_, index) => `u${index}`);
    for (const userId of userIds) publish('a', userId);
    clock.advance(1_001);
    const steps = hub.age(() => true);
    const held = (): number => userIds.filter((userId) => !hub.ringOf(userId).isEmpty).length;
    t.equal(held(), 2 * ringsPerStep + 1, 'nothing before the first step');
    for (const left of [ringsPerStep + 1, 1, 0]) {
      steps.next();
      t.equal(held(), left);
    }
  },
);

t.test('a shutdown ends the steps that are left: they would read a closed store', async (t) => {
  const gateway = new SimulatedGateway();
  let steps = 0;
  gateway.hub.age = function* () {
    for (;;) yield void steps++;
  };
  await gateway.pass(30_000);
  t.ok(steps > 0);
  await gateway.core.stop();
  const before = steps;
  await nextTurn();
  await nextTurn();
  t.equal(steps, before);
});

function setUp(change: Partial<Limits> = {}) {
  const clock = new SimulatedClock();
  const limits = shippedLimits(change);
  const hub = new EventHub({ clock, limits, eventsPublished: new Counter() });
  /** Without `turns` a step takes its turns at once. */
  function resume(source: string, position: number, room = Infinity, turns?: (() => boolean)[]) {
    const ring = hub.ringOf('u1');
    const subscriber = new Subscriber(key(source), position, { clock, limits, ring });
    const sink = new FakeSink();
    sink.room = room;
    subscriber.sink = sink;
    subscriber.takeTurns = (step) => {
      if (turns !== undefined) turns.push(step);
      else while (!step());
    };
    hub.subscribe('u1', subscriber);
    subscriber.pump();
    const drain = (): void => {
      sink.room = Infinity;
      subscriber.pump();
    };
    return { subscriber, sink, drain };
  }
  return {
    clock,
    hub,
    resume,
    turns: [] as (() => boolean)[],
    subscribe: (source: string) => resume(source, hub.ringOf('u1').lastSeq),
    publish: (source: string, userId = 'u1', text = '') => {
      hub.publish(userId, {
        name: 'order_update',
        source: name(source),
        sourceKey: sourceKey(name(source)),
        occurredAt: '',
        data: { text },
      });
      return hub.ringOf(userId).lastSeq;
    },
  };
}

function name(source: string) {
  return { platform: 'terminal_a', instanceId: source, accountName: 'Sim101' };
}

function key(source: string): string {
  return sourceKey(name(source));
}

function upTo(last: number): number[] {
  return Array.from({ length: last }, (_, i) => i + 1);
}
