/**
 * Follows the events of one terminal: connects, yields events, and reconnects with the cursor of the last
 * yielded event, until the caller stops.
 */
import { createParser } from 'eventsource-parser';
import type { Clock } from '../lib/clock.js';
import { summaryOf, type Answer } from './answer.js';
import { backoffMs, pause, readDelaysMs } from './backoff.js';
import { isCursor } from './checked-settings.js';
import type { EventConnection, OpenEvents } from './event-connection.js';
import type { NoResponse } from './exchange.js';
import type { Failure } from './result.js';
import { ruleFor } from './retry-rules.js';
import { sourceQuery, type SourceName } from './sources.js';
import { StreamStart } from './stream-start.js';
import { readItem, type StreamItem } from './terminal-event.js';

/**
 * The cursor after a stream that broke before it told where it begins. It is invalid on purpose: the gateway
 * responds with a `replay_gap` and a cursor, whereas a request without a cursor would hide lost events.
 */
const unknownCursor = 'none';

/** Limit of one event in characters: several times the longest event that a plugin can send. */
const eventLengthMax = 2 ** 20;

/** The gateway refused the stream for a reason that a retry cannot fix. */
export class StreamRefused extends Error {
  override readonly name = 'StreamRefused';

  constructor(readonly failure: Failure) {
    super(failure.message);
  }
}

export interface EventStreamDeps {
  readonly open: OpenEvents;
  readonly clock: Clock;
  readonly random: () => number;
}

export interface FollowOptions {
  /** Resumes after this event. Default: starts with new events. */
  readonly lastEventId?: string;
  /** Ends the stream, also while it waits to reconnect. */
  readonly signal?: AbortSignal;
}

interface StreamPart {
  /** Where the stream begins, once it has told; otherwise empty. */
  readonly beginsAt: string;
  readonly items: readonly StreamItem[];
}

export async function* followEvents(
  { open, clock, random }: EventStreamDeps,
  source: SourceName,
  { lastEventId, signal }: FollowOptions,
): AsyncGenerator<StreamItem, void, void> {
  const path = `/api/v1/terminal-events/stream?${sourceQuery(source)}`;
  let cursor = lastEventId;
  let failures = 0;

  while (!isAborted(signal)) {
    const connection = await open(path, cursor, signal);
    let waitMs = 0;
    if (connection.answered === 'stream') {
      cursor ??= unknownCursor;
      for await (const { beginsAt, items } of partsOf(connection, (ms) => (waitMs = ms))) {
        if (cursor === unknownCursor && isCursor(beginsAt)) cursor = beginsAt;
        for (const item of items) {
          if (isCursor(item.id)) cursor = item.id;
          failures = 0;
          yield item;
          if (isAborted(signal)) return;
        }
      }
    } else if (!isAborted(signal)) {
      waitMs = retryAfterOf(connection);
    }
    if (isAborted(signal)) return;
    const backoff = backoffMs(readDelaysMs, failures++, random);
    await pause(clock, Math.max(backoff, waitMs), signal);
  }
}

/** Parses the chunks of a stream until its end. Closes the stream when the caller reads no further. */
async function* partsOf(
  connection: EventConnection,
  onRetry: (ms: number) => void,
): AsyncGenerator<StreamPart, void, void> {
  const start = new StreamStart();
  const items: StreamItem[] = [];
  const parser = createParser({
    onEvent: ({ id = '', event = 'message', data }) => {
      const item = readItem(id, event, data);
      if (item !== undefined) items.push(item);
    },
    onRetry,
    onError: ({ type }) => {
      if (type === 'max-buffer-size-exceeded') connection.close();
    },
    maxBufferSize: eventLengthMax,
  });
  try {
    for (let text = await connection.read(); text !== undefined; text = await connection.read()) {
      parser.feed(text);
      yield { beginsAt: start.feed(text) ?? '', items: items.splice(0) };
    }
  } finally {
    connection.close();
  }
}

/** @returns the Retry-After in milliseconds, 0 without one. @throws StreamRefused if a retry cannot help. */
function retryAfterOf(reply: Answer | NoResponse): number {
  if (!reply.answered) return 0;
  const { status, context } = reply;
  if (ruleFor(status, context.code).retry !== 'never') return context.retryAfterMs ?? 0;
  throw new StreamRefused({
    kind: 'refused',
    message: `The gateway refused the stream: ${summaryOf(reply)}`,
    ...context,
  });
}

function isAborted(signal: AbortSignal | undefined): boolean {
  return signal?.aborted === true;
}
