/**
 * Manages the open event streams: counts them per user, sends keep-alive comments, and ends a stream when its
 * key expires, is revoked or loses access. Owns each stream from its 200 to the end of the response. A reader that
 * takes nothing is cut off by the native server, after ten seconds.
 */
import { hasExpired, type KeyOwner } from '../auth/api-key.js';
import type { KeyRights } from '../auth/key-rights.js';
import type { EventHub } from './hub.js';
import type { Subscriber } from './subscriber.js';
import type { EventWriter, WriterCallbacks, WriterEnd } from './event-writer.js';
import type { Clock } from '../lib/clock.js';
import { random } from '../lib/ids.js';
import type { CounterSet } from '../lib/instruments.js';
import type { Deadline, Deadlines } from '../lib/deadlines.js';
import { eachByTurns } from '../lib/turn.js';
import { Turns } from '../lib/turns.js';
import type { Scope } from '../model/scopes.js';

/** The scope that a key needs for a stream. */
const scope: Scope = 'events:read';
/** Interval of keep-alive comments. */
export const keepAliveMs = 15_000;
/** At shutdown, clients get a random retry delay within this time, so that they do not reconnect all at once. */
const reconnectSpreadMs = 10_000;

/** Why a stream ended. */
export const streamEnds = [
  'client_left',
  'not_allowed',
  'key_expired',
  'too_slow',
  'server_draining',
] as const;

export type StreamEnd = (typeof streamEnds)[number];

interface EventStream {
  readonly caller: KeyOwner;
  readonly subscriber: Subscriber;
  readonly writer: EventWriter;
  keepAlive: Deadline | undefined;
  keyEnd: Deadline | undefined;
  /** Set when the gateway ends the stream. */
  endedFor: StreamEnd | undefined;
}

export interface EventStreamsDeps {
  readonly clock: Clock;
  readonly deadlines: Deadlines;
  readonly rights: KeyRights;
  readonly hub: EventHub;
  readonly streamsClosed: CounterSet<StreamEnd>;
}

/** Users whose streams are ended in one turn of the event loop: a few milliseconds, with three streams each. */
export const usersPerTurn = 32;

export class EventStreams {
  readonly #deps: EventStreamsDeps;
  readonly #open = new Map<string, Set<EventStream>>();
  readonly #turns = new Turns();
  #count = 0;

  constructor(deps: EventStreamsDeps) {
    this.#deps = deps;
  }

  get count(): number {
    return this.#count;
  }

  countOf(userId: string): number {
    return this.#open.get(userId)?.size ?? 0;
  }

  /**
   * @param now monotonic ms at which the ring buffer held every event that the subscriber is to read.
   * @param start sends the response head and returns its writer; undefined if the client is gone.
   */
  open(
    caller: KeyOwner,
    subscriber: Subscriber,
    now: number,
    start: (events: WriterCallbacks) => EventWriter | undefined,
  ): void {
    const { hub } = this.#deps;
    const { userId } = caller.user;
    const writer = start({
      onDrained: () => subscriber.pump(),
      onClosed: (end) => this.#forget(userId, stream, end),
    });
    if (writer === undefined) return;
    const stream: EventStream = {
      caller,
      subscriber,
      writer,
      keepAlive: undefined,
      keyEnd: undefined,
      endedFor: undefined,
    };
    const streams = this.#open.get(userId);
    if (streams === undefined) this.#open.set(userId, new Set([stream]));
    else streams.add(stream);
    this.#count++;
    this.#keepAliveLater(stream);
    this.#endWithKey(stream);
    subscriber.sink = writer;
    const asker = {
      get isOver() {
        return writer.isClosed();
      },
      run: (step: () => void) => step(),
    };
    subscriber.takeTurns = (step) => this.#turns.run(userId, asker, step);
    hub.subscribe(userId, subscriber);
    // Within the native server's call for the request all writes share one cork, and may be lost in part
    // (native-notes/backpressure.md).
    setImmediate(() => subscriber.pump(now));
  }

  /** Ends the user's streams whose key, user or plan no longer allows them. */
  recheck(userId: string): void {
    for (const stream of this.#open.get(userId) ?? []) {
      const refusal = this.#deps.rights.refusalNow(stream.caller, scope);
      if (refusal !== undefined) endFor('not_allowed', stream);
    }
  }

  /** As `recheck`, for all users, in slices. Resolves when each stream was looked at. */
  recheckAll(): Promise<void> {
    return eachByTurns([...this.#open.keys()], usersPerTurn, (userId) => this.recheck(userId));
  }

  /** Graceful shutdown: ends all streams with a random `retry` each. */
  drain(): void {
    for (const streams of this.#open.values()) {
      for (const stream of streams) {
        const retryMs = 1000 + Math.floor(random() * reconnectSpreadMs);
        endFor('server_draining', stream, `retry: ${retryMs}\n\n`);
      }
    }
  }

  /** Keys expire by the wall clock, which may step while the deadline runs: so it checks that clock again. */
  #endWithKey(stream: EventStream): void {
    const { deadlines, clock } = this.#deps;
    const { key } = stream.caller;
    if (key.expiresAt === null) return;
    stream.keyEnd = deadlines.after(key.expiresAt - clock.now(), () => {
      if (hasExpired(key, clock.now())) endFor('key_expired', stream);
      else this.#endWithKey(stream);
    });
  }

  #keepAliveLater(stream: EventStream): void {
    const { deadlines, clock } = this.#deps;
    stream.keepAlive = deadlines.after(keepAliveMs, () => {
      if (hasExpired(stream.caller.key, clock.now())) {
        endFor('key_expired', stream);
      } else {
        stream.writer.keepAlive();
        this.#keepAliveLater(stream);
      }
    });
  }

  #forget(userId: string, stream: EventStream, end: WriterEnd): void {
    const { hub, deadlines, streamsClosed } = this.#deps;
    const streams = this.#open.get(userId);
    if (streams?.delete(stream) !== true) return;
    this.#count--;
    streamsClosed.add(stream.endedFor ?? (end === 'aborted' ? 'too_slow' : 'client_left'));
    if (streams.size === 0) this.#open.delete(userId);
    deadlines.remove(stream.keepAlive);
    deadlines.remove(stream.keyEnd);
    hub.unsubscribe(userId, stream.subscriber);
  }
}

function endFor(reason: StreamEnd, stream: EventStream, finalChunk?: string): void {
  stream.endedFor = reason;
  stream.writer.end(finalChunk);
}
