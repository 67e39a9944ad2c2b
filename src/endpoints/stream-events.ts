/** GET /api/v1/terminal-events/stream: streams the events of one source over SSE, optionally from a cursor. */
import { formatCursor, readCursor } from '../events/cursor.js';
import type { EventHub } from '../events/hub.js';
import { Subscriber } from '../events/subscriber.js';
import type { KeyEndpoint } from '../http/endpoint.js';
import type { Clock } from '../lib/clock.js';
import type { Limits } from '../limits.js';
import { sourceKey } from '../model/source-name.js';
import type { Registry } from '../plugins/registry.js';
import type { EventStreams } from '../events/event-streams.js';
import { readTerminalSource } from './terminal-source.js';

export interface StreamEventsDeps {
  readonly clock: Clock;
  readonly limits: Limits;
  readonly hub: EventHub;
  readonly streams: EventStreams;
  readonly registry: Pick<Registry, 'findActive'>;
}

/**
 * The id in the first block, which has no data, tells where the stream begins: a client that is cut before
 * its first event resumes from there. `replay_gap` has that id itself, not a block before it: a client that
 * is cut between the two would resume without having heard of the gap.
 */
const retry = 'retry: 1000\n';
const replayGap = `event: replay_gap\ndata: ${JSON.stringify({ reason: 'cursor_not_available' })}\n\n`;

export function createStreamEvents(deps: StreamEventsDeps): KeyEndpoint {
  const { clock, limits, hub, streams, registry } = deps;

  return (exchange, caller) => {
    const { userId } = caller.user;
    const { head, request } = exchange;
    const source = readTerminalSource(request.query, limits);
    if (source === undefined) return exchange.fail('invalid_terminal_source');
    if (head.lastEventIdCount > 1 || head.lastEventId.length > limits.lastEventIdLengthMax) {
      return exchange.fail('invalid_event_cursor');
    }
    const key = sourceKey(source);
    if (registry.findActive(userId, key) === undefined) {
      return exchange.fail('terminal_source_not_found');
    }
    if (streams.countOf(userId) >= limits.streamsPerUserMax) {
      return exchange.fail('too_many_event_subscriptions', { retryAfter: 1 });
    }

    const ring = hub.ringOf(userId);
    // A cursor of bytes beyond ASCII arrives empty, because the native parser cuts them off.
    const isResumed = head.lastEventIdCount > 0;
    const wanted = isResumed ? readCursor(head.lastEventId, ring.epoch) : ring.lastSeq;
    const now = clock.monotonic();
    const canReplay = wanted !== undefined && ring.reaches(wanted, key, now);
    const position = canReplay ? wanted : ring.lastSeq;
    const id = `id: ${formatCursor(ring.epoch, position)}\n`;
    const preamble = canReplay ? `${retry}${id}\n` : `${retry}\n${id}${replayGap}`;
    streams.open(caller, new Subscriber(key, position, { clock, limits, ring }), now, (events) =>
      exchange.openStream(preamble, events),
    );
  };
}
