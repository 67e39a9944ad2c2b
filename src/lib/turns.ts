/**
 * Runs long work in short steps: one step in each turn of the event loop, however many jobs wait. The owners of
 * jobs take turns, so that no request and no job waits for the work of another owner. Owns the jobs that are not
 * done; they end with the process.
 */

/** Who waits for a job, as an exchange does. */
export interface Asker {
  /** Whether the asker has stopped waiting. */
  readonly isOver: boolean;
  /** Runs a step. Answers the error that a step throws, which ends the job. */
  run(step: () => void): void;
}

interface Job {
  readonly asker: Asker;
  /** @returns false when there are further steps. */
  readonly step: () => unknown;
}

export class Turns {
  /** By owner, in the order of their turns. A Map keeps the order of insertion. */
  readonly #jobs = new Map<string, Job[]>();

  /** The first step runs in a later turn of the event loop. An owner's jobs run one after the other. */
  run(owner: string, asker: Asker, step: Job['step']): void {
    if (this.#jobs.size === 0) setImmediate(() => this.#turn());
    const waiting = this.#jobs.get(owner);
    if (waiting === undefined) this.#jobs.set(owner, [{ asker, step }]);
    else waiting.push({ asker, step });
  }

  #turn(): void {
    const [next] = this.#jobs;
    if (next === undefined) return;
    const [owner, waiting] = next;
    this.#jobs.delete(owner);
    if (takeStep(waiting[0] as Job)) waiting.shift();
    // The step itself may have added a job of the same owner.
    const added = this.#jobs.get(owner) ?? [];
    this.#jobs.delete(owner);
    if (waiting.length + added.length > 0) this.#jobs.set(owner, [...waiting, ...added]);
    if (this.#jobs.size > 0) setImmediate(() => this.#turn());
  }
}

/** @returns whether the job is done. */
function takeStep({ asker, step }: Job): boolean {
  let isDone = true;
  asker.run(() => {
    if (!asker.isOver) isDone = step() !== false;
  });
  return isDone;
}
