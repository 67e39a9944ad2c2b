/**
 * Holds the sources of every user: name, capabilities, connection, last-seen time and highest received `seq`.
 * All but the connection is in the store, so that a source stays active across a restart.
 */
import { isDeleted } from '../auth/accounts.js';
import { every, type Clock, type Timer } from '../lib/clock.js';
import { dayMs, hourMs } from '../lib/durations.js';
import { stepByTurns, type Steps } from '../lib/turn.js';
import type { RetentionClock } from '../retention/retention-clock.js';
import type { Limits } from '../limits.js';
import { sourceKey, targetKey, type SourceName } from '../model/source-name.js';
import type { Execution } from '../model/execution.js';
import type { WriteQueue } from '../store/write-queue.js';
import type { Entry, Reader, Writer } from '../store/store.js';
import { walk } from '../store/walk.js';
import type { FrameBytes } from './decode-frame.js';
import { digestOf, FrameDigests } from './frame-digests.js';
import {
  numbersAfter,
  putSource,
  removeSource,
  type Source,
  type SourceConnection,
} from './source.js';

/** Longest interval between two writes of the last-seen times of connected sources. */
const lastSeenIntervalMs = 15_000;
/** A crash shortens a source's heartbeat window by at most this fraction of it. */
const lastSeenWritesPerWindow = 8;
/** Sources read or written in one turn: ten thousand would hold up the event loop for tens of milliseconds. */
export const sourcesPerTurn = 256;
/**
 * Not the retention of executions, which may be a day: the orders that rest at a terminal which is off over a weekend
 * would be given up, and its reports of them be lost.
 */
const sourceRetentionDays = 30;
/** Known sources per active one that a user may have; above it, the one longest unseen is removed. */
const knownPerActive = 16;

export interface RegistryDeps {
  readonly store: Reader;
  readonly writer: WriteQueue;
  readonly clock: Clock;
  readonly retentionClock: RetentionClock;
  readonly limits: Limits;
}

export class Registry {
  readonly #deps: RegistryDeps;
  readonly #byUser = new Map<string, Map<string, Source>>();
  #timers: Timer[] = [];
  readonly #connected = new Set<Source>();
  /** Sources whose last-seen time is to be written once the slice before is on disk. */
  #unwritten: Source[] = [];
  /** The latest look for sources that were not seen for long. */
  #removal: Steps | undefined;

  constructor(deps: RegistryDeps) {
    this.#deps = deps;
  }

  get connectedCount(): number {
    return this.#connected.size;
  }

  /** In steps of a few milliseconds. */
  *load(): Generator<void, void, void> {
    const { clock, limits, store } = this.#deps;
    let read = 0;
    for (const row of walk(store, 'sources', {}, sourcesPerTurn)) {
      this.#read(row);
      if (++read % sourcesPerTurn === 0) yield;
    }
    const windowPartMs = limits.heartbeatWindowMs / lastSeenWritesPerWindow;
    const intervalMs = Math.min(lastSeenIntervalMs, windowPartMs);
    this.#timers = [
      every(clock, intervalMs, () => {
        // While the disk refuses, the slices that wait are enough.
        if (this.#unwritten.length === 0) this.#writeLastSeen();
      }),
      every(clock, hourMs, () => {
        this.#removal = this.#removeUnseen();
        void stepByTurns(this.#removal);
      }),
    ];
  }

  /** Reads the sources of a user that was imported from another gateway. @returns the new ones. */
  adopt(userId: string): Source[] {
    const rows = this.#deps.store.range('sources', { prefix: [userId] });
    return rows.flatMap((row) => this.#read(row) ?? []);
  }

  /** @returns undefined for a source that is known already, or whose user is deleted. */
  #read({ key: [userId], record }: Entry<'sources'>): Source | undefined {
    const { store, clock } = this.#deps;
    const key = sourceKey(record);
    // A deleted user's sources stay in the store until the purge removes them.
    if (this.find(userId, key) !== undefined || isDeleted(store, userId)) return undefined;
    return this.#insert({
      ...record,
      userId,
      key,
      durableSeq: record.lastSeq,
      numbers: numbersAfter(record.lastSeq),
      lastSeen: clock.monotonic() - Math.max(0, clock.now() - record.lastSeenAt),
      connection: undefined,
    });
  }

  stop(): void {
    for (const timer of this.#timers) timer.cancel();
    // The steps that are left would write to a closed store.
    this.#removal?.return();
    this.#writeLastSeen();
  }

  /** @returns the user's sources that were seen within the heartbeat window, in a stable order. */
  active(userId: string): Source[] {
    const sources = this.#byUser.get(userId);
    if (sources === undefined) return [];
    return [...sources.values()].filter((source) => this.isActive(source));
  }

  /**
   * A connected source is active: its connection is closed when it falls silent. By the last-seen time, every
   * source would be inactive after a pause of the gateway, until the frames that came meanwhile are read.
   */
  isActive(source: Source): boolean {
    if (source.connection !== undefined) return true;
    return source.lastSeen >= this.#deps.clock.monotonic() - this.#deps.limits.heartbeatWindowMs;
  }

  find(userId: string, key: string): Source | undefined {
    return this.#byUser.get(userId)?.get(key);
  }

  /** @returns the source that an execution was routed to; undefined if there was none. */
  sourceOf(userId: string, execution: Execution): Source | undefined {
    const key = targetKey(execution);
    return key === undefined ? undefined : this.find(userId, key);
  }

  /** @returns the user's source if it was seen within the heartbeat window. */
  findActive(userId: string, key: string): Source | undefined {
    const source = this.find(userId, key);
    return source !== undefined && this.isActive(source) ? source : undefined;
  }

  isConnected(userId: string, key: string): boolean {
    return this.find(userId, key)?.connection !== undefined;
  }

  /** Whether the execution's terminal is connected now and supports cancels. */
  canCancel(userId: string, execution: Execution): boolean {
    const source = this.sourceOf(userId, execution);
    return source?.connection !== undefined && source.capabilities.includes('cancel');
  }

  /** Whether the execution's terminal, connected or not, supports cancels; true if it is not known. */
  mayCancel(userId: string, execution: Execution): boolean {
    return this.sourceOf(userId, execution)?.capabilities.includes('cancel') !== false;
  }

  *all(): Generator<Source> {
    for (const sources of this.#byUser.values()) yield* sources.values();
  }

  /** Whether this source may become or stay active: a user's active sources are limited. */
  hasRoom(userId: string, name: SourceName): boolean {
    if (this.findActive(userId, sourceKey(name)) !== undefined) return true;
    return this.active(userId).length < this.#deps.limits.sourcesPerUser;
  }

  /** Binds a connection to its source. @returns the source and the connection it replaces. */
  attach(
    userId: string,
    name: SourceName,
    plugin: Pick<Source, 'capabilities' | 'software'>,
    connection: SourceConnection,
  ): { source: Source; replaced: SourceConnection | undefined } {
    const key = sourceKey(name);
    const known = this.find(userId, key);
    if (known === undefined) this.#makeRoom(userId);
    const source =
      known ??
      this.#insert({
        ...name,
        ...plugin,
        userId,
        key,
        lastSeq: 0,
        durableSeq: 0,
        numbers: numbersAfter(0),
        lastSeenAt: 0,
        lastSeen: 0,
        connection: undefined,
      });
    const replaced = source.connection;
    source.capabilities = plugin.capabilities;
    source.software = plugin.software;
    source.connection = connection;
    this.#connected.add(source);
    this.touch(source);
    // Written at once: after a crash the source must be active, so that signals wait for its plugin.
    this.#deps.writer.write({ records: [source] });
    return { source, replaced };
  }

  /** @returns false if another connection has replaced this one. */
  detach(source: Source, connection: SourceConnection): boolean {
    if (source.connection !== connection) return false;
    source.connection = undefined;
    this.#connected.delete(source);
    if (this.find(source.userId, source.key) === source) {
      this.#deps.writer.write({ records: [source] });
    }
    return true;
  }

  /** Updates the last-seen time. */
  touch(source: Source): void {
    source.lastSeen = this.#deps.clock.monotonic();
    source.lastSeenAt = this.#deps.clock.now();
  }

  /** Records the `seq` of a frame. @returns false if this `seq`, or a higher one, was received before. */
  receive(source: Source, seq: number, bytes: FrameBytes): boolean {
    if (seq <= source.lastSeq) return false;
    source.lastSeq = seq;
    source.received.set(seq, digestOf(bytes));
    return true;
  }

  /** Everything up to `seq` is durable. */
  markDurable(source: Source, seq: number): void {
    source.durableSeq = Math.max(source.durableSeq, seq);
    source.received.dropUpTo(seq);
  }

  /** Drops all sources of a deleted user. */
  forget(userId: string): void {
    this.#byUser.delete(userId);
  }

  #insert(fields: Omit<Source, 'put' | 'received'>): Source {
    const put = (batch: Writer): void => putSource(batch, source);
    const source: Source = { ...fields, received: new FrameDigests(), put };
    let sources = this.#byUser.get(source.userId);
    if (sources === undefined) {
      sources = new Map<string, Source>();
      this.#byUser.set(source.userId, sources);
    }
    sources.set(source.key, source);
    return source;
  }

  *#removeUnseen(): Steps {
    const oldest = this.#deps.retentionClock.now() - sourceRetentionDays * dayMs;
    let looks = 0;
    for (const source of this.all()) {
      if (source.connection === undefined && source.lastSeenAt < oldest) this.#remove(source);
      if (++looks % sourcesPerTurn === 0) yield;
    }
  }

  /** Removes the source longest unseen if there are too many: ever new names would fill the memory. */
  #makeRoom(userId: string): void {
    const sources = this.#byUser.get(userId);
    if (sources === undefined) return;
    if (sources.size < knownPerActive * this.#deps.limits.sourcesPerUser) return;
    let unseen: Source | undefined;
    for (const source of sources.values()) {
      if (source.connection !== undefined) continue;
      if (unseen === undefined || source.lastSeen < unseen.lastSeen) unseen = source;
    }
    if (unseen !== undefined) this.#remove(unseen);
  }

  #remove(source: Source): void {
    this.#byUser.get(source.userId)?.delete(source.key);
    const put = (batch: Writer): void => removeSource(batch, source);
    this.#deps.writer.write({ records: [{ put }] });
  }

  #writeLastSeen(): void {
    this.#unwritten = [...this.#connected];
    this.#writeSlice();
  }

  #writeSlice(): void {
    if (this.#unwritten.length === 0) return;
    // One that has left meanwhile was written then, or its user is deleted.
    const slice = this.#unwritten.splice(0, sourcesPerTurn);
    const records = slice.filter((source) => this.#connected.has(source));
    const done = this.#unwritten.length === 0 ? undefined : (): void => this.#writeSlice();
    this.#deps.writer.write({ records, done });
  }
}
