/**
 * Collects writes in groups for the log: one group is being written, and the writes that come meanwhile form
 * the next. When a write of the log fails, the outcome of its group is unknown; the group that waits behind it
 * is known not to be written. Owns both groups.
 *
 * A group is written, and its outcome told, at the end of a loop turn. By then all sockets that were ready in
 * the turn have had their callbacks, and their writes share one group. And the native server corks only the
 * socket whose callback runs: an answer to another socket from within that callback would cost a system call
 * for each header (`native-notes/backpressure.md`).
 */
import type { Clock } from '../lib/clock.js';
import type { Histogram } from '../lib/instruments.js';
import type { FrameMemory } from './frame-memory.js';
import type { Log } from './log/log.js';
import type { Overlay } from './overlay.js';
import { type StoreFailure, WriteRefused } from './store.js';
import { WriteGroup } from './write-group.js';

export interface GroupCommitDeps {
  readonly clock: Clock;
  readonly log: Pick<Log, 'append' | 'end'>;
  readonly overlay: Overlay;
  readonly memory: FrameMemory;
  /** Whether the next group has to wait until the index has caught up. */
  readonly isHeld: () => boolean;
  /** Called before a group is written. Throws, which ends the process, when no write may follow. */
  readonly onBegin: () => void;
  /** Called when a group is on disk and readers see it. */
  readonly onFlushed: (group: WriteGroup) => void;
  /** Called after every write of the log, with its failure. */
  readonly onCommit: ((failure: StoreFailure | undefined) => void) | undefined;
  /** Seconds from a group's first write until it is on disk. */
  readonly commitLatency: Histogram | undefined;
  /** Seconds of a write of the log. */
  readonly flushLatency: Histogram | undefined;
}

export class GroupCommit {
  /** Why the newest write of the log failed; undefined when it succeeded or was refused before it began. */
  failure: StoreFailure | undefined;
  #filling: WriteGroup | undefined;
  #underWay: WriteGroup | undefined;
  #isScheduled = false;
  #idle: (() => void)[] = [];

  constructor(readonly deps: GroupCommitDeps) {}

  /** The group that a write joins now. */
  join(): WriteGroup {
    if (this.#filling === undefined) {
      this.#filling = new WriteGroup(this.deps.memory.begin(), this.deps.clock.monotonic());
      this.next();
    }
    return this.#filling;
  }

  /** The group that the newest write is in, until its outcome is told. In an empty group, every write has thrown. */
  get last(): WriteGroup | undefined {
    const filling = this.#filling;
    return filling === undefined || filling.versions.length === 0 ? this.#underWay : filling;
  }

  /** Bytes that are not on disk yet. */
  get bytes(): number {
    return (this.#filling?.bytes ?? 0) + (this.#underWay?.bytes ?? 0);
  }

  /** Milliseconds since the first write of the oldest group whose outcome is not told; 0 when there is none. */
  ageMs(): number {
    const oldest = this.#underWay ?? this.#filling;
    return oldest === undefined ? 0 : this.deps.clock.monotonic() - oldest.begunAt;
  }

  /** Resolves when every group's outcome is told. */
  idle(): Promise<void> {
    if (this.last === undefined) return Promise.resolve();
    return new Promise((resolve) => this.#idle.push(resolve));
  }

  /** Schedules the write of the waiting group, unless another group is under way. */
  next(): void {
    if (this.#isScheduled || this.#underWay !== undefined || this.#filling === undefined) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#begin();
    });
  }

  #begin(): void {
    const group = this.#filling;
    if (group === undefined || this.deps.isHeld()) return;
    this.#filling = undefined;
    this.#underWay = group;
    const { memory, log, clock, flushLatency, commitLatency } = this.deps;
    memory.close(group.span);
    if (group.versions.length === 0) return this.#skip(group);
    this.deps.onBegin();
    const begunAt = clock.monotonic();
    log.append(group.frame, (failure) => {
      const now = clock.monotonic();
      if (failure === undefined) {
        flushLatency?.observe((now - begunAt) / 1000);
        commitLatency?.observe((now - group.begunAt) / 1000);
      }
      group.flushedAt = now;
      group.end = log.end;
      setImmediate(() => this.#end(group, failure));
    });
  }

  #end(group: WriteGroup, failure: StoreFailure | undefined): void {
    this.#underWay = undefined;
    this.failure = failure instanceof WriteRefused ? undefined : failure;
    if (failure === undefined) {
      this.deps.overlay.flushed(group);
      this.deps.onFlushed(group);
      this.#begin();
      group.resolve();
    } else {
      const waiting = this.#filling;
      this.#filling = undefined;
      // Reverts the newer group first, since its versions lie on those of the older one.
      if (waiting !== undefined) {
        this.deps.memory.close(waiting.span);
        if (waiting.versions.length === 0) this.#release(waiting);
        else this.#fail(waiting, new WriteRefused(behind, { cause: failure }));
      }
      this.#fail(group, failure);
    }
    this.deps.onCommit?.(failure);
    this.#tellIdle();
  }

  #skip(group: WriteGroup): void {
    this.#underWay = undefined;
    this.#release(group);
    this.#tellIdle();
  }

  /** Ends an empty group: every write to it threw, and no caller waits for it. */
  #release(group: WriteGroup): void {
    this.deps.memory.free(group.span);
    group.resolve();
  }

  #tellIdle(): void {
    if (this.last !== undefined) return;
    for (const resolve of this.#idle.splice(0)) resolve();
  }

  #fail(group: WriteGroup, failure: StoreFailure): void {
    this.deps.overlay.revert(group);
    this.deps.memory.free(group.span);
    group.reject(failure);
  }
}

const behind = 'the write before it failed';
