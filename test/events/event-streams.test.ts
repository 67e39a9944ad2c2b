import t from 'tap';
import { EventStreams, usersPerTurn, type StreamEnd } from '../../src/events/event-streams.js';
import { EventHub } from '../../src/events/hub.js';
import { slicesPerPump, Subscriber } from '../../src/events/subscriber.js';
import type { WriterCallbacks, WriterEnd } from '../../src/events/event-writer.js';
import type { KeyOwner } from '../../src/auth/api-key.js';
import { KeyRights } from '../../src/auth/key-rights.js';
import type { SseWriter } from '../../src/http/sse-writer.js';
import { Counter } from '../../src/lib/instruments.js';
import { Deadlines } from '../../src/lib/deadlines.js';
import { nextTurn } from '../../src/lib/turn.js';
import { shippedPlans } from '../../src/plans.js';
import { createInstruments } from '../../src/telemetry/instruments.js';
import { createMemoryStore } from '../support/memory-store.js';
import { shippedLimits } from '../support/shipped-limits.js';
import { SimulatedClock } from '../support/simulated-clock.js';
import { user } from '../support/simulated-gateway.js';

const hourMs = 3_600_000;
const keepAliveMs = 15_000;
/** No multiple of `keepAliveMs`: a keep-alive, too, ends the stream of an expired key. */
const keyLifeMs = 2 * hourMs + 1;

t.test('a stream ends with its key, to the millisecond', async (t) => {
  const { clock, ends } = openStream();
  clock.advance(keyLifeMs - 1);
  t.equal(ends(), 0);
  clock.advance(1);
  t.equal(ends(), 1);
});

t.test(
  'a clock set forward over the end of the key ends it with the next keep-alive',
  async (t) => {
    const { clock, ends } = openStream();
    clock.stepWall(3 * hourMs);
    clock.advance(keepAliveMs);
    t.equal(ends(), 1);
  },
);

t.test('a clock set back lets it live as long as its key', async (t) => {
  const { clock, ends } = openStream();
  clock.stepWall(-hourMs);
  clock.advance(keyLifeMs);
  t.equal(ends(), 0);
  clock.advance(hourMs);
  t.equal(ends(), 1);
});

t.test(
  'a slow reader, whose socket is full whenever a keep-alive is due, is not cut off',
  async (t) => {
    const { clock, socket } = openStream();
    socket.isBlocked = true;
    clock.advance(10 * keepAliveMs);
    t.equal(socket.aborts, 0);
  },
);

t.test('a comment keeps the connection alive every 15 seconds', (t) => {
  const { clock, socket } = openStream();
  clock.advance(keepAliveMs - 1);
  t.equal(socket.keepAlives, 0);
  clock.advance(1 + 2 * keepAliveMs);
  t.equal(socket.keepAlives, 3);
  t.end();
});

t.test('nothing is left of a stream that has ended', async (t) => {
  const { clock, deadlines, hub, streams } = openStream();
  t.equal(hub.subscriberCount, 1);
  clock.advance(keyLifeMs);
  t.equal(hub.subscriberCount, 0);
  t.equal(deadlines.size, 0);
  t.strictSame([streams.count, streams.countOf('u1')], [0, 0]);
});

t.test('one whose client leaves before its key ends has no deadline for that', async (t) => {
  const { deadlines, close } = openStream();
  close('left');
  t.equal(deadlines.size, 0);
});

t.test(
  'what is replayed leaves after the call for its request, whose writes share a cork',
  async (t) => {
    const { writes } = openStream(['first', 'second']);
    t.strictSame(writes, []);
    await nextTurn();
    t.strictSame(writes, ['firstsecond']);
  },
);

t.test('what is replayed leaves to its last event, however large the one before', async (t) => {
  const large = 'x'.repeat(64 * 1_024);
  const { writes } = openStream([large, 'last']);
  await nextTurn();
  t.strictSame(writes, [large, 'last']);
});

t.test('a stream whose key keeps its rights goes on when those of its user change', async (t) => {
  const { store, streams, open } = openStream();
  open('u2');
  await store.write((batch) => {
    batch.put('users', 'u2', { ...user, userId: 'u2' });
    batch.put('apiKeyHashes', ['u2', 1], 'hash');
    batch.put('apiKeys', 'hash', {
      id: 1,
      userId: 'u2',
      name: 'bot',
      displayPrefix: '',
      scopes: ['events:read'],
      createdAt: 0,
      expiresAt: null,
      revokedAt: null,
    });
  });
  for (const userId of ['u1', 'u2']) streams.recheck(userId);
  t.strictSame([streams.countOf('u1'), streams.countOf('u2')], [0, 1]);
});

t.test('a stream that ends leaves those that its user has beside it', (t) => {
  const { streams, open, close } = openStream();
  open('u1');
  close('left');
  t.equal(streams.countOf('u1'), 1);
  streams.recheck('u1');
  t.equal(streams.count, 0, 'it is still looked after');
  t.end();
});

t.test('each stream is counted by why it ended', (t) => {
  const ends: Record<StreamEnd, (opened: ReturnType<typeof openStream>) => void> = {
    client_left: ({ close }) => close('left'),
    too_slow: ({ close }) => close('aborted'),
    key_expired: ({ clock }) => clock.advance(keyLifeMs),
    not_allowed: ({ streams }) => streams.recheck('u1'),
    server_draining: ({ streams }) => streams.drain(),
  };
  for (const [reason, end] of Object.entries(ends)) {
    const opened = openStream();
    end(opened);
    const counted = Object.entries(opened.streamsClosed.counters)
      .filter(([, { value }]) => value > 0)
      .map(([name]) => name);
    t.strictSame(counted, [reason]);
  }
  t.end();
});

t.test('when the Public API is switched, streams without rights end in slices', async (t) => {
  const { streams, open } = openStream();
  for (let i = 0; i < 2 * usersPerTurn; i++) open(`user ${i}`);
  const ended = streams.recheckAll();
  t.equal(streams.count, usersPerTurn + 1);
  await nextTurn();
  t.equal(streams.count, 1);
  await ended;
  t.equal(streams.count, 0);
});

t.test('a long replay leaves slice by slice, in turns with those of other users', async (t) => {
  // Each is a slice.
  const held = Array.from({ length: 40 }, (_, i) => `${i} `.padEnd(100_000, 'x'));
  const { writes, open } = openStream(held);
  await nextTurn();
  t.equal(writes.length, slicesPerPump);
  open('u2');
  await nextTurn();
  t.equal(writes.length, 2 * slicesPerPump + 1, 'the first of the second user');
  await nextTurn();
  t.equal(writes.length, 2 * slicesPerPump + 2, 'one of both');
  while (writes.length < 2 * held.length) await nextTurn();
  const numbers = writes.map((text) => parseInt(text));
  t.strictSame(
    numbers.toSorted((a, b) => a - b),
    held.flatMap((_, i) => [i, i]),
    'all, once',
  );
});

t.test('a replay that waits for its turn writes nothing while the socket is full', async (t) => {
  const { writes, socket } = openStream(Array.from({ length: 10 }, () => 'x'.repeat(100_000)));
  await nextTurn();
  socket.isBlocked = true;
  await nextTurn();
  t.equal(writes.length, slicesPerPump);
});

/** A stream whose key ends after `keyLifeMs`. @param held the frames after its cursor. */
function openStream(held: readonly string[] = []) {
  const clock = new SimulatedClock();
  const deadlines = new Deadlines(clock);
  const limits = shippedLimits();
  const hub = new EventHub({ clock, limits, eventsPublished: new Counter() });
  const { streamsClosed } = createInstruments([]);
  const store = createMemoryStore();
  const rights = new KeyRights({ store, clock, plans: shippedPlans });
  const streams = new EventStreams({ clock, deadlines, rights, hub, streamsClosed });
  const writes: string[] = [];
  let ended = 0;
  const socket = { isBlocked: false, aborts: 0, keepAlives: 0 };
  let close: WriterCallbacks['onClosed'] = () => undefined;
  function open(userId: string): void {
    const key = { id: 1, expiresAt: clock.now() + keyLifeMs };
    const caller = { user: { userId }, key } as KeyOwner;
    const ring = hub.ringOf(userId);
    for (const [index, text] of held.entries()) {
      ring.push({ seq: index + 1, at: clock.monotonic(), source: 's', frame: Buffer.from(text) });
    }
    const subscriber = new Subscriber('s', 0, { clock, limits, ring });
    streams.open(caller, subscriber, clock.monotonic(), ({ onClosed }) => {
      close = onClosed;
      let isClosed = false;
      const writer: Partial<SseWriter> = {
        isBlocked: () => socket.isBlocked,
        abort: () => void socket.aborts++,
        isClosed: () => isClosed,
        write: (bytes) => void writes.push(Buffer.from(bytes).toString()),
        keepAlive: () => void socket.keepAlives++,
        end() {
          isClosed = true;
          ended++;
          onClosed('ended');
        },
      };
      return writer as SseWriter;
    });
  }
  open('u1');
  return {
    clock,
    ends: () => ended,
    socket,
    deadlines,
    hub,
    streams,
    /** The stream that was opened last ends. */
    close: (end: WriterEnd) => close(end),
    store,
    streamsClosed,
    writes,
    open,
  };
}
