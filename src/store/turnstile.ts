/**
 * Opens and commits take turns. Whoever opens the store makes lmdb set the number of the last
 * transaction, which all processes share, to one that was read a moment before: a commit in between
 * would be overwritten by the next, though it was acknowledged (native-notes/lmdb.md, "An open can set
 * the store back"). So whoever commits holds a lock together with the others who do, and lets go of it as
 * soon as somebody wants to open. The kernel frees the locks of a process that ends.
 */
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { tryLock, unlock, waitForLock } from 'fs-native-extensions';
import { type Clock, systemClock, type Timer } from '../lib/clock.js';
import { StoreRefused } from './refusal.js';
import { StoreFailure } from './store.js';

const turnstileFile = 'store.lock';
const fileMode = 0o600;
/** Places in the file: held alone by who opens or waits to, and together by all who commit. */
const opening = 0;
const committing = 1;
const together = { shared: true } as const;

/** How often who commits without a pause looks whether somebody wants to open. */
const lookMs = 20;
/** Longest that an open waits for those who commit, and they for the open. */
const patienceMs = 10_000;

interface Waiting {
  readonly start: () => void;
  readonly reject: (reason: StoreFailure) => void;
}

export class Turnstile {
  readonly #directory: string;
  readonly #clock: Clock;
  readonly #file: number;
  #isCommitting = false;
  /** Somebody opens or is about to. */
  #isShut = false;
  #isClosed = false;
  #look: Timer | undefined;
  #patience: Timer | undefined;
  readonly #queue: Waiting[] = [];
  /** Promises of commits that hold what has waited. */
  readonly #detours = new WeakSet<Promise<unknown>>();

  constructor(directory: string, clock: Clock = systemClock) {
    this.#directory = directory;
    this.#clock = clock;
    this.#file = openSync(join(directory, turnstileFile), 'a+', fileMode);
  }

  /** Runs `open` while nobody commits. Throws `StoreRefused` when somebody does not let go. */
  open<T>(open: () => T): T {
    const end = this.#clock.monotonic() + patienceMs;
    for (const place of [opening, committing]) {
      while (!tryLock(this.#file, place, 1)) {
        if (this.#clock.monotonic() > end) throw this.#refusal();
        Atomics.wait(pause, 0, 0, 1);
      }
    }
    try {
      return open();
    } finally {
      unlock(this.#file, committing, 1);
      unlock(this.#file, opening, 1);
    }
  }

  /** @returns whether a write may go to lmdb now, with `rest` to follow; otherwise it has to `wait`. */
  enter(): boolean {
    if (this.#isShut || this.#queue.length > 0) return false;
    if (this.#isCommitting || this.#take()) return true;
    this.#shut();
    return false;
  }

  /** Runs `work` as soon as it may go to lmdb, in the order of the calls. Rejects with `StoreFailure`. */
  wait<T>(work: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const start = (): void => {
        const done = work();
        this.#detours.add(done);
        done.then(resolve, reject);
      };
      this.#queue.push({ start, reject });
      this.#patience ??= this.#clock.setTimer(patienceMs, () => this.#giveUp());
    });
  }

  /**
   * Whoever has waited hears of a commit one step later than those who have not: where both are in the
   * same one, these have to take that step too, so that all hear of it in the order of their calls.
   */
  inOrder(committed: Promise<void>): Promise<void> {
    return this.#detours.has(committed) ? committed.then(noted) : committed;
  }

  /** No commit is under way. */
  rest(): void {
    if (!this.#isCommitting) return;
    this.#isCommitting = false;
    this.#look?.cancel();
    unlock(this.#file, committing, 1);
    if (this.#isShut) void this.#comeBack();
  }

  /** Resolves when nothing waits any more, neither for its turn nor for somebody to open. */
  async settled(): Promise<void> {
    if (!this.#isShut && this.#queue.length === 0) return;
    // What gave up waiting has been told, and the end must not wait for ever.
    await this.wait(() => Promise.resolve()).catch(() => undefined);
  }

  /** When nothing waits and no commit is under way. */
  close(): void {
    this.#isClosed = true;
    this.#look?.cancel();
    this.#patience?.cancel();
    closeSync(this.#file);
  }

  #take(): boolean {
    if (!tryLock(this.#file, opening, 1, together)) return false;
    // Whoever holds it alone holds the other place as well.
    tryLock(this.#file, committing, 1, together);
    unlock(this.#file, opening, 1);
    this.#isCommitting = true;
    this.#lookLater();
    return true;
  }

  #lookLater(): void {
    this.#look = this.#clock.setTimer(lookMs, () => {
      if (!tryLock(this.#file, opening, 1, together)) return this.#shut();
      unlock(this.#file, opening, 1);
      this.#lookLater();
    });
  }

  /** Nothing more goes to lmdb until whoever opens has done so. */
  #shut(): void {
    this.#isShut = true;
    if (!this.#isCommitting) void this.#comeBack();
  }

  /** Waits behind whoever opens. */
  async #comeBack(): Promise<void> {
    try {
      await waitForLock(this.#file, opening, 1, together);
    } catch (error) {
      if (!this.#isClosed) throw error;
    }
    if (this.#isClosed) return;
    unlock(this.#file, opening, 1);
    this.#isShut = false;
    while (this.#queue.length > 0) {
      if (!this.#isCommitting && !this.#take()) return this.#shut();
      this.#queue.shift()?.start();
    }
    this.#patience?.cancel();
    this.#patience = undefined;
  }

  /** Who opens has been suspended meanwhile; what waited for it gets an answer. */
  #giveUp(): void {
    this.#patience = undefined;
    const failure = new StoreFailure(
      'another process has begun to open the store, and does not end it',
    );
    for (const { reject } of this.#queue.splice(0)) reject(failure);
  }

  #refusal(): StoreRefused {
    return new StoreRefused(
      `The store in ${this.#directory} is in use by a process that does not answer, as a gateway ` +
        'that is suspended or far too busy. Let it go on, or end it, and try again.',
    );
  }
}

const pause = new Int32Array(new SharedArrayBuffer(4));

function noted(): void {
  // The step is all that matters.
}
