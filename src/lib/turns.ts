/**
 * Runs long work in short steps: one step in each turn of the event loop, whatever number of jobs wait, and the
 * owners of jobs take turns. So neither the requests of others nor the jobs of others wait for one owner's. Owns
 * the jobs that are not done; they end with the process.
 */

/** One step of a job. @returns true when the job is done. */
export type Step = () => boolean;

export class Turns {
  /** By owner, in the order of their turns. A Map keeps the order of insertion. */
  readonly #jobs = new Map<string, Step[]>();

  /** The first step runs in a later turn of the event loop. An owner's jobs run one after the other. */
  run(owner: string, step: Step): void {
    if (this.#jobs.size === 0) setImmediate(() => this.#turn());
    const waiting = this.#jobs.get(owner);
    if (waiting === undefined) this.#jobs.set(owner, [step]);
    else waiting.push(step);
  }

  #turn(): void {
    const [next] = this.#jobs;
    if (next === undefined) return;
    const [owner, waiting] = next;
    this.#jobs.delete(owner);
    const isDone = waiting[0]?.() ?? true;
    if (isDone) waiting.shift();
    // The step itself may have added a job of the same owner.
    const added = this.#jobs.get(owner) ?? [];
    this.#jobs.delete(owner);
    if (waiting.length + added.length > 0) this.#jobs.set(owner, [...waiting, ...added]);
    if (this.#jobs.size > 0) setImmediate(() => this.#turn());
  }
}
