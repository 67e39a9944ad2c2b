/** A stream that is opened while the event after its cursor reaches the replay age. */
import t from 'tap';
import type { KeyOwner } from '../../src/auth/api-key.js';
import { KeyRights } from '../../src/auth/key-rights.js';
import { createStreamEvents } from '../../src/endpoints/stream-events.js';
import { formatCursor } from '../../src/events/cursor.js';
import { EventStreams } from '../../src/events/event-streams.js';
import { EventHub } from '../../src/events/hub.js';
import type { Exchange } from '../../src/http/exchange.js';
import { Deadlines } from '../../src/lib/deadlines.js';
import { Counter } from '../../src/lib/instruments.js';
import { nextTurn } from '../../src/lib/turn.js';
import { sourceKey } from '../../src/model/source-name.js';
import type { Source } from '../../src/plugins/source.js';
import { createInstruments } from '../../src/telemetry/instruments.js';
import { FakeSink } from '../events/fake-sink.js';
import { sourceQuery } from '../support/event-reader.js';
import { createMemoryStore } from '../support/memory-store.js';
import { hello } from '../support/plugin.js';
import { shippedLimits } from '../support/shipped-limits.js';
import { SimulatedClock } from '../support/simulated-clock.js';
import { TickingClock } from '../support/ticking-clock.js';

const replayAgeMs = 1_000;
const userId = 'u1';
const source = {
  platform: hello.platform,
  instanceId: hello.instanceId,
  accountName: hello.accountName,
};

t.test(
  'an event that ages meanwhile is replayed or told as a gap, and the stream goes on',
  async (t) => {
    for (let before = 0; before < 6; before++) {
      const { clock, open } = setUp();
      clock.advance(replayAgeMs - before);
      const { preamble, sink } = open();
      await nextTurn();
      t.equal(sink.wasAborted, false, `${before} ms before`);
      const isGap = preamble.includes('event: replay_gap');
      t.strictSame(sink.seqs, isGap ? [] : [1], isGap ? 'a gap' : 'replayed');
    }
  },
);

/** A user with one event. */
function setUp() {
  const clock = new SimulatedClock();
  const limits = shippedLimits({ replayAgeMs });
  const hub = new EventHub({ clock, limits, eventsPublished: new Counter() });
  hub.publish(userId, {
    name: 'order_update',
    source,
    sourceKey: sourceKey(source),
    occurredAt: '',
    data: {},
  });
  const { streamsClosed } = createInstruments([]);
  function open() {
    const ticking = new TickingClock();
    ticking.advance(clock.monotonic());
    const rights = new KeyRights({ store: createMemoryStore(), clock, plans: {} });
    const deadlines = new Deadlines(clock);
    const streams = new EventStreams({ clock: ticking, deadlines, rights, hub, streamsClosed });
    const registry = { findActive: () => ({}) as Source };
    const endpoint = createStreamEvents({ clock: ticking, limits, hub, streams, registry });
    const sink = new FakeSink();
    let preamble = '';
    const exchange = {
      head: { lastEventIdCount: 1, lastEventId: formatCursor(hub.ringOf(userId).epoch, 0) },
      request: { query: sourceQuery() },
      openStream: (text: string) => {
        preamble = text;
        return sink;
      },
    };
    const caller = { user: { userId }, key: { id: 1, expiresAt: null } };
    void endpoint(exchange as unknown as Exchange, caller as KeyOwner);
    return { preamble, sink };
  }
  return { clock, open };
}
