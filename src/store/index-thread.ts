/**
 * The thread that writes to the index: answers what it is asked, in the order of the questions. Owns the thread,
 * which starts when it is first needed, again after it has failed or could not be started, and keeps the process
 * alive while it owes an answer, or for as long as it is held.
 */
import { Worker } from 'node:worker_threads';
import { errorText } from '../lib/error-text.js';
import type { IndexAnswer, IndexRequest, IndexThreadData } from './index-thread.worker.js';
import { beginExit, createExitGuard } from './exit-guard.js';

export type Answered = (answer: IndexAnswer) => void;

export class IndexThread {
  #worker: Worker | undefined;
  #asked: Answered[] = [];
  #isHeld = false;

  /** @param position before which the index holds everything, when the thread starts. */
  constructor(
    readonly data: Pick<IndexThreadData, 'directory' | 'sweeper'>,
    readonly position: () => number,
  ) {}

  ask(request: IndexRequest, answered: Answered): void {
    try {
      this.#worker ??= this.#start();
    } catch (error) {
      // The system has no thread left for now.
      const failure = `its thread cannot be started: ${errorText(error)}`;
      queueMicrotask(() => answered({ failure }));
      return;
    }
    this.#asked.push(answered);
    this.#worker.ref();
    this.#send(this.#worker, request);
  }

  /** Whether it keeps the process alive between two questions, too. */
  hold(isHeld: boolean): void {
    this.#isHeld = isHeld;
    if (isHeld) this.#worker?.ref();
    else if (this.#asked.length === 0) this.#worker?.unref();
  }

  /** Resolves when everything is answered and the thread has ended. */
  async end(): Promise<void> {
    const worker = this.#worker;
    if (worker === undefined) return;
    const ended = new Promise((resolve) => worker.once('exit', resolve));
    this.hold(true);
    this.#send(worker, 'end');
    await ended;
  }

  #start(): Worker {
    const file = new URL('./index-thread.worker.js', import.meta.url);
    const guard = createExitGuard();
    const workerData: IndexThreadData = { ...this.data, position: this.position(), guard };
    const worker = new Worker(file, { workerData, name: 'index' });
    const leave = (): void => {
      // What the thread has not written is in the log, as after a kill.
      if (!beginExit(guard)) process.kill(process.pid, 'SIGKILL');
    };
    process.once('exit', leave);
    worker.once('exit', () => process.off('exit', leave));
    worker.on('message', (answer: IndexAnswer) => {
      this.#asked.shift()?.(answer);
      if (this.#asked.length === 0 && !this.#isHeld) worker.unref();
    });
    worker.on('error', ({ message }) => this.#lost(worker, message));
    worker.on('exit', () => this.#lost(worker, 'its thread has ended'));
    return worker;
  }

  #lost(worker: Worker, failure: string): void {
    if (this.#worker !== worker) return;
    this.#worker = undefined;
    for (const answered of this.#asked.splice(0)) answered({ failure });
  }

  #send(worker: Worker, request: IndexRequest): void {
    worker.postMessage(request);
  }
}
