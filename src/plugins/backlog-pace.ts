/**
 * Sends the backlogs of a user's connections slice by slice: one in each turn of the event loop, and no more than one
 * commit is to hold. A user may connect all of its terminals at once, each with thousands of commands; while a commit is
 * under way, what all of them change would gather in the next one, and be written and announced in one turn. Owns the
 * slices that wait; they end with the process.
 */
import { Queue } from '../lib/queue.js';
import type { WriteQueue } from '../store/write-queue.js';

/** Sends some of a backlog, and adds another slice if there is more. @returns how many executions it has changed. */
export type Slice = () => number;

interface Waiting {
  readonly slices: Queue<Slice>;
  /** Executions that were changed and are not on disk. */
  unwritten: number;
  isScheduled: boolean;
}

/** Changes of one user after which the next slice waits for the disk: about ten milliseconds with their flushes. */
const unwrittenMax = 512;

export class BacklogPace {
  readonly #writer: Pick<WriteQueue, 'write'>;
  readonly #waiting = new Map<string, Waiting>();
  #isStopped = false;

  constructor(writer: Pick<WriteQueue, 'write'>) {
    this.#writer = writer;
  }

  /** The slice runs in a later turn, after those that the user's other connections have added. */
  add(userId: string, slice: Slice): void {
    let waiting = this.#waiting.get(userId);
    if (waiting === undefined) {
      waiting = { slices: new Queue(), unwritten: 0, isScheduled: false };
      this.#waiting.set(userId, waiting);
    }
    waiting.slices.push(slice);
    this.#schedule(userId, waiting);
  }

  stop(): void {
    this.#isStopped = true;
  }

  #schedule(userId: string, waiting: Waiting): void {
    if (waiting.isScheduled || waiting.unwritten >= unwrittenMax) return;
    waiting.isScheduled = true;
    setImmediate(() => {
      waiting.isScheduled = false;
      this.#next(userId, waiting);
    });
  }

  #next(userId: string, waiting: Waiting): void {
    if (this.#isStopped) return;
    const changed = waiting.slices.shift()?.() ?? 0;
    if (changed > 0) {
      waiting.unwritten += changed;
      this.#writer.write({
        records: [],
        done: () => {
          waiting.unwritten -= changed;
          this.#schedule(userId, waiting);
        },
      });
    }
    if (waiting.slices.length > 0) this.#schedule(userId, waiting);
    else if (waiting.unwritten === 0) this.#waiting.delete(userId);
  }
}
