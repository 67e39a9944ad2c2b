/**
 * Publishes terminal events: numbers each per user, encodes it once, appends it to the user's ring buffer and
 * notifies the user's subscribers of its source. Owns the ring buffers, which end with the process.
 */
import { toIsoTime, type Clock } from '../lib/clock.js';
import { randomHex } from '../lib/ids.js';
import type { Counter } from '../lib/instruments.js';
import type { Limits } from '../limits.js';
import { formatCursor } from './cursor.js';
import { ReplayMemory } from './replay-memory.js';
import { EventRing } from './ring.js';
import type { Subscriber } from './subscriber.js';
import { encodeEvent, type TerminalEvent } from './terminal-event.js';

export interface HubDeps {
  readonly clock: Clock;
  readonly limits: Limits;
  readonly eventsPublished: Counter;
}

/** Notified subscribers are pumped at the end of the turn in one write each, or after this many events. */
const eventsPerPumpMax = 256;
/** Rings aged in one step: a few milliseconds, when all of their events are too old. */
export const ringsPerStep = 32;
/** Bytes after which notified subscribers are pumped. */
const bytesPerPumpMax = 256 * 1024;

export class EventHub {
  readonly #deps: HubDeps;
  readonly #pumpedAt: number;
  readonly #pumpedAtBytes: number;
  readonly #memory: ReplayMemory;
  readonly #rings = new Map<string, EventRing>();
  readonly #subscribers = new Map<string, Set<Subscriber>>();
  /** Subscribers with pending events of this turn of the event loop. */
  #notified = new Set<Subscriber>();
  /** Events of any user since the notified subscribers were last pumped. */
  #unpumped = 0;
  #unpumpedBytes = 0;

  constructor(deps: HubDeps) {
    this.#deps = deps;
    const { replayEventsMax, replayBytesPerUser, replayBytesMax } = deps.limits;
    this.#pumpedAt = Math.min(eventsPerPumpMax, replayEventsMax);
    this.#pumpedAtBytes = Math.min(bytesPerPumpMax, replayBytesPerUser / 2, replayBytesMax / 2);
    this.#memory = new ReplayMemory(replayBytesMax);
  }

  get subscriberCount(): number {
    let count = 0;
    for (const subscribers of this.#subscribers.values()) count += subscribers.size;
    return count;
  }

  /** @returns the event's SSE frame, valid until the next call. */
  publish(userId: string, event: TerminalEvent): Uint8Array {
    const { clock, limits } = this.#deps;
    const ring = this.ringOf(userId);
    const seq = ring.lastSeq + 1;
    const source = event.sourceKey;
    const receivedAt = toIsoTime(clock.now());
    const eventId = formatCursor(ring.epoch, seq);
    const frame = encodeEvent(event, eventId, receivedAt, limits.rawTextLengthMax);
    // One turn can publish more than a ring buffer holds, and would evict events that no reader has seen.
    if (this.#unpumpedBytes + frame.length > this.#pumpedAtBytes) this.#pumpNotified();
    this.#unpumpedBytes += frame.length;
    const subscribers = this.#subscribers.get(userId) ?? noSubscribers;
    for (const subscriber of subscribers) subscriber.stayAhead(frame.length);
    ring.push({ seq, at: clock.monotonic(), source, frame });
    this.#deps.eventsPublished.add();
    for (const subscriber of subscribers) {
      if (subscriber.source !== source) continue;
      subscriber.pending++;
      this.#notified.add(subscriber);
    }
    if (this.#unpumped++ === 0) setImmediate(() => this.#pumpNotified());
    if (this.#unpumped >= this.#pumpedAt) this.#pumpNotified();
    return frame;
  }

  ringOf(userId: string): EventRing {
    let ring = this.#rings.get(userId);
    if (ring === undefined) {
      ring = new EventRing(this.#deps.limits, randomHex(6), this.#memory);
      this.#rings.set(userId, ring);
    }
    return ring;
  }

  subscribe(userId: string, subscriber: Subscriber): void {
    const subscribers = this.#subscribers.get(userId);
    if (subscribers === undefined) this.#subscribers.set(userId, new Set([subscriber]));
    else subscribers.add(subscriber);
  }

  unsubscribe(userId: string, subscriber: Subscriber): void {
    const subscribers = this.#subscribers.get(userId);
    subscribers?.delete(subscriber);
    if (subscribers?.size === 0) this.#subscribers.delete(userId);
    this.#notified.delete(subscriber);
  }

  /** Drops the events of a deleted user. */
  forget(userId: string): void {
    this.#rings.get(userId)?.clear();
    this.#rings.delete(userId);
  }

  /**
   * Evicts events above the replay age, and drops empty ring buffers of deleted users: an event in flight at
   * the deletion may have created one. Works in steps, since the events of all users may be too old at once.
   */
  *age(isUser: (userId: string) => boolean): Generator<void, void, void> {
    let aged = 0;
    for (const [userId, ring] of this.#rings) {
      ring.age(this.#deps.clock.monotonic());
      if (ring.isEmpty && !isUser(userId)) this.#rings.delete(userId);
      if (++aged % ringsPerStep === 0) yield;
    }
  }

  #pumpNotified(): void {
    const notified = this.#notified;
    this.#notified = new Set();
    this.#unpumped = 0;
    this.#unpumpedBytes = 0;
    for (const each of notified) each.pump();
    // Only now: the memory of all users would drop events that no reader has seen.
    this.#memory.trim();
  }
}

const noSubscribers: ReadonlySet<Subscriber> = new Set();
