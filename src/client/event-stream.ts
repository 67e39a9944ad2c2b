/**
 * Follows one terminal's events for as long as the caller wants: connects, reads, and connects again
 * after the last event that it handed out. What cannot be replayed it says, as a `replay_gap`.
 */
import { createParser } from 'eventsource-parser';
import type { Clock } from '../lib/clock.js';
import type { Answer } from './answer.js';
import { backoffMs, pause, readDelaysMs } from './backoff.js';
import { isCursor } from './checked-settings.js';
import type { OpenEvents } from './event-connection.js';
import type { Silence } from './exchange.js';
import type { Failure } from './result.js';
import { ruleFor } from './retry-rules.js';
import type { SourceName } from './sources.js';
import { readItem, type StreamItem } from './terminal-event.js';

/**
 * What a stream that broke before its first event resumes after. No gateway can replay it, so that
 * the answer is a `replay_gap` with a cursor, where a request without one would hide what was missed.
 */
const unknownCursor = 'none';

/** Characters of one event, several times the longest that a plugin may send; more is a flood. */
const eventLengthMax = 2 ** 20;

/** The gateway refused the stream for a reason that waiting does not mend. */
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
  /** Goes on after this event; without it, from now on. */
  readonly lastEventId?: string;
  /** Ends the stream, also while it waits to connect again. */
  readonly signal?: AbortSignal;
}

export async function* followEvents(
  { open, clock, random }: EventStreamDeps,
  source: SourceName,
  { lastEventId, signal }: FollowOptions,
): AsyncGenerator<StreamItem, void, void> {
  const { platform, instanceId, accountName } = source;
  const query = new URLSearchParams({ platform, instanceId, accountName });
  const path = `/api/v1/terminal-events/stream?${query.toString()}`;
  let cursor = lastEventId;
  let failures = 0;

  while (!isAborted(signal)) {
    const connection = await open(path, cursor, signal);
    let waitMs = 0;
    if (connection.answered === 'stream') {
      cursor ??= unknownCursor;
      const items: StreamItem[] = [];
      const parser = createParser({
        onEvent: ({ id = '', event = 'message', data }) => {
          const item = readItem(id, event, data);
          if (item !== undefined) items.push(item);
        },
        onRetry: (ms) => {
          waitMs = ms;
        },
        onError: ({ type }) => {
          if (type === 'max-buffer-size-exceeded') connection.close();
        },
        maxBufferSize: eventLengthMax,
      });
      try {
        for (
          let text = await connection.read();
          text !== undefined;
          text = await connection.read()
        ) {
          parser.feed(text);
          for (const item of items.splice(0)) {
            if (isCursor(item.id)) cursor = item.id;
            failures = 0;
            yield item;
            if (isAborted(signal)) return;
          }
        }
      } finally {
        connection.close();
      }
    } else if (!isAborted(signal)) {
      waitMs = retryAfterOf(connection);
    }
    if (isAborted(signal)) return;
    const backoff = backoffMs(readDelaysMs, failures++, random);
    await pause(clock, Math.max(backoff, waitMs), signal);
  }
}

/** @returns the milliseconds that the gateway asks to wait. @throws StreamRefused if it is final. */
function retryAfterOf(reply: Answer | Silence): number {
  if (!reply.answered) return 0;
  const { status, told, text } = reply;
  if (ruleFor(status, told.code).retry !== 'never') return told.retryAfterMs ?? 0;
  const words = [`HTTP ${status}`, told.code, text].filter((part) => part !== undefined);
  throw new StreamRefused({
    kind: 'refused',
    message: `The gateway refused the stream: ${words.join(', ')}`,
    ...told,
  });
}

function isAborted(signal: AbortSignal | undefined): boolean {
  return signal?.aborted === true;
}
