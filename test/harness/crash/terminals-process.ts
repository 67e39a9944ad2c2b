/** Starts and controls the process of the terminals. */
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Command, Observation, TerminalIdentity } from './observation.js';

export class TerminalsProcess {
  readonly #process: ChildProcess;

  constructor(seed: number, identities: readonly TerminalIdentity[]) {
    this.#process = fork(fileURLToPath(new URL('terminals.program.js', import.meta.url)));
    this.#say({ say: 'open', seed, identities });
  }

  connectTo(url: string): void {
    this.#say({ say: 'go', url });
  }

  startLoad(): void {
    this.#say({ say: 'startLoad' });
  }

  /** @returns the terminals with pending work after the timeout. */
  waitUntilIdle(): Promise<readonly string[]> {
    return this.#ask({ say: 'waitUntilIdle' }) as Promise<string[]>;
  }

  /** @returns the observations since the last call. */
  takeObservations(): Promise<readonly Observation[]> {
    return this.#ask({ say: 'tell' }) as Promise<Observation[]>;
  }

  end(): void {
    this.#process.disconnect();
  }

  #say(command: Command): void {
    this.#process.send(command);
  }

  /** Callers wait for the reply before the next request. */
  async #ask(command: Command): Promise<unknown> {
    const answered = once(this.#process, 'message');
    this.#say(command);
    return (await answered)[0];
  }
}
