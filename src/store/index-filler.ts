/**
 * Brings groups that the log holds into the index by a thread of its own, many of them in one transaction.
 * Owns the groups that the index lacks. Tries a failed transaction again every second.
 */
import type { Clock, Timer } from '../lib/clock.js';
import { StoreFailure } from './store.js';
import type { IndexThread } from './index-thread.js';
import type { IndexAnswer } from './index-thread.worker.js';
import type { WriteGroup } from './write-group.js';

/**
 * A transaction begins when so many bytes wait, or after `gatherMs`. It is small, since the log's writes wait for
 * the disk behind its pages (native-notes/log.md).
 */
const bytesPerTransaction = 128 * 1024;
const gatherMs = 40;
/** When behind, a transaction takes this part of what waits, since a larger one costs less per group. */
const partWhenBehind = 1 / 8;
/** The most that it takes, in some 30 ms. */
const bytesWhenBehind = 2 * 1024 * 1024;
const retryMs = 1_000;

interface Settling {
  readonly position: number;
  readonly resolve: (position: number) => void;
  readonly reject: (failure: StoreFailure) => void;
}

export interface IndexFillerDeps {
  readonly clock: Clock;
  readonly thread: Pick<IndexThread, 'ask' | 'hold'>;
  /** Why nothing may be passed to lmdb now. */
  readonly refusal: () => Error | undefined;
  /** The index holds these groups, durably. */
  readonly onApplied: (groups: readonly WriteGroup[]) => void;
  /** Told of each transaction that failed. */
  readonly onFailed: (reason: string) => void;
}

export class IndexFiller {
  /** Bytes of the groups that the index lacks. */
  waitingBytes = 0;
  /** Why the last try failed. */
  failure: string | undefined;
  #waiting: WriteGroup[] = [];
  /** How many of the waiting groups, from the first on, a transaction applies now. */
  #underWay = 0;
  #timer: Timer | undefined;
  #isClosing = false;
  #settled: Settling[] = [];
  #stopped: () => void = () => undefined;

  constructor(
    readonly deps: IndexFillerDeps,
    /** Everything in the log before it is in the index. */
    public position: number,
  ) {}

  /** Milliseconds since the oldest group that the index lacks was flushed; 0 when there is none. */
  lagMs(): number {
    const [oldest] = this.#waiting;
    return oldest === undefined ? 0 : this.deps.clock.monotonic() - oldest.flushedAt;
  }

  add(group: WriteGroup): void {
    this.#waiting.push(group);
    this.waitingBytes += group.bytes;
    if (this.failure !== undefined) this.#fillAfter(retryMs);
    else this.#fillSoon();
  }

  /** Resolves when the index holds every group added before, with the position that it has reached. */
  settled(): Promise<number> {
    const last = this.#waiting.at(-1);
    if (last === undefined) return Promise.resolve(this.position);
    return new Promise((resolve, reject) => {
      this.#settled.push({ position: last.end, resolve, reject });
      this.#fill();
    });
  }

  /** Waits for the transaction that is under way. @returns the groups that the index lacks then. */
  async close(): Promise<readonly WriteGroup[]> {
    this.#isClosing = true;
    this.#timer?.cancel();
    if (this.#underWay > 0) await new Promise<void>((resolve) => (this.#stopped = resolve));
    for (const { reject } of this.#settled.splice(0))
      reject(new StoreFailure('the store is closed'));
    return this.#waiting;
  }

  #fillSoon(): void {
    if (this.waitingBytes >= bytesPerTransaction) this.#fill();
    else this.#fillAfter(gatherMs);
  }

  #fillAfter(delayMs: number): void {
    if (this.#timer !== undefined || this.#underWay > 0 || this.#isClosing) return;
    this.#timer = this.deps.clock.setTimer(delayMs, () => this.#fill());
  }

  #fill(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    if (this.#underWay > 0 || this.#isClosing || this.#waiting.length === 0) return;
    const refusal = this.deps.refusal();
    if (refusal !== undefined) return this.#failed(refusal.message);
    const partBytes = Math.min(this.waitingBytes * partWhenBehind, bytesWhenBehind);
    const groups = this.#waiting.slice(0, this.#countFor(Math.max(bytesPerTransaction, partBytes)));
    this.#underWay = groups.length;
    const position = (groups.at(-1) as WriteGroup).end;
    const frames = groups.map(({ frame }) => frame);
    this.deps.thread.ask({ frames, position }, (answer) => this.#answered(answer));
    // Keeps the process alive until the index lacks nothing.
    this.deps.thread.hold(true);
  }

  /** How many groups fit into the bytes; at least one. */
  #countFor(bytesMax: number): number {
    let bytes = 0;
    const over = this.#waiting.findIndex((group) => (bytes += group.bytes) > bytesMax);
    return over < 0 ? this.#waiting.length : Math.max(1, over);
  }

  #answered(answer: IndexAnswer): void {
    const count = this.#underWay;
    this.#underWay = 0;
    if ('position' in answer) this.#applied(this.#waiting.slice(0, count), answer.position);
    else if ('failure' in answer) this.#failed(answer.failure);
    this.#stopped();
  }

  #applied(groups: readonly WriteGroup[], position: number): void {
    this.failure = undefined;
    this.position = position;
    this.#waiting = this.#waiting.slice(groups.length);
    for (const group of groups) this.waitingBytes -= group.bytes;
    this.deps.onApplied(groups);
    const isSettled = (each: Settling): boolean => each.position <= position;
    for (const { resolve } of this.#settled.filter(isSettled)) resolve(position);
    this.#settled = this.#settled.filter((each) => !isSettled(each));
    if (this.#waiting.length === 0) this.deps.thread.hold(false);
    else if (this.#settled.length > 0) this.#fill();
    else this.#fillSoon();
  }

  #failed(reason: string): void {
    this.failure = reason;
    this.#fillAfter(retryMs);
    const failure = new StoreFailure(`the index cannot be filled: ${reason}`);
    for (const { reject } of this.#settled.splice(0)) reject(failure);
    this.deps.onFailed(reason);
  }
}
