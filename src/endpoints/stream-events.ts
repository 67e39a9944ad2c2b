/** GET /api/v1/terminal-events/stream: streams the events of one source over SSE, optionally from a cursor. */
import { formatCursor, readCursor } from '../events/cursor.js';
import type { EventHub } from '../events/hub.js';
import { Subscriber } from '../events/subscriber.js';
import type { KeyEndpoint } from '../http/endpoint.js';
import type { Clock } from '../lib/clock.js';
import type { Limits } from '../limits.js';
import { sourceKey, type SourceName } from '../model/source-name.js';
import type { EventStreams } from '../events/event-streams.js';

export interface StreamEventsDeps {
  readonly clock: Clock;
  readonly limits: Limits;
  readonly hub: EventHub;
  readonly streams: EventStreams;
  readonly isActiveSource: (userId: string, key: string) => boolean;
}

const retry = 'retry: 1000\n\n';

export function createStreamEvents(deps: StreamEventsDeps): KeyEndpoint {
  const { clock, limits, hub, streams, isActiveSource } = deps;

  return (exchange, caller) => {
    const { userId } = caller.user;
    const { head, request } = exchange;
    const source = readSource(request.query, limits);
    if (source === undefined) return exchange.fail('invalid_terminal_source');
    if (head.lastEventIdCount > 1 || head.lastEventId.length > limits.lastEventIdLengthMax) {
      return exchange.fail('invalid_event_cursor');
    }
    const key = sourceKey(source);
    if (!isActiveSource(userId, key)) return exchange.fail('terminal_source_not_found');
    if (streams.countOf(userId) >= limits.streamsPerUserMax) {
      return exchange.fail('too_many_event_subscriptions', { retryAfter: 1 });
    }

    const ring = hub.ringOf(userId);
    const wanted = head.lastEventId === '' ? ring.lastSeq : readCursor(head.lastEventId, hub.epoch);
    const canReplay = wanted !== undefined && ring.reaches(wanted, key, clock.monotonic());
    const position = canReplay ? wanted : ring.lastSeq;
    const preamble = canReplay ? retry : `${retry}${replayGap(hub.epoch, position)}`;
    streams.open(caller, new Subscriber(key, position, { clock, limits, ring }), (events) =>
      exchange.openStream(preamble, events),
    );
  };
}

/** Its id is the reader's current position, so that a later reconnect resumes from here. */
function replayGap(epoch: string, seq: number): string {
  const data = JSON.stringify({ reason: 'cursor_not_available' });
  return `id: ${formatCursor(epoch, seq)}\nevent: replay_gap\ndata: ${data}\n\n`;
}

/** @returns undefined unless each parameter occurs exactly once, within its length. */
function readSource(query: string, limits: Limits): SourceName | undefined {
  const parameters = new URLSearchParams(query);
  const [platform, instanceId, accountName] = ['platform', 'instanceId', 'accountName'].map(
    (name) => {
      const values = parameters.getAll(name);
      return values.length === 1 ? values[0] : undefined;
    },
  );
  if (platform === undefined || instanceId === undefined || accountName === undefined) {
    return undefined;
  }
  const isWithin =
    platform.length >= 1 &&
    instanceId.length <= limits.streamInstanceIdLengthMax &&
    accountName.length >= 1 &&
    accountName.length <= limits.streamAccountNameLengthMax;
  return isWithin ? { platform, instanceId, accountName } : undefined;
}
