/** Starts and controls the process of the terminals. */
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Command, Observation, Reply, TerminalIdentity } from './observation.js';

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
  async waitUntilIdle(): Promise<readonly string[]> {
    const reply = await this.#ask({ say: 'waitUntilIdle' });
    return reply.reply === 'waitUntilIdle' ? reply.pendingWork : [];
  }

  /** @returns the observations since the last call. */
  async takeObservations(): Promise<readonly Observation[]> {
    const reply = await this.#ask({ say: 'tell' });
    return reply.reply === 'observations' ? reply.observations : [];
  }

  end(): void {
    this.#process.disconnect();
  }

  #say(command: Command): void {
    this.#process.send(command);
  }

  /** Callers wait for the reply before the next request. */
  async #ask(command: Command): Promise<Reply> {
    const answered = once(this.#process, 'message') as Promise<[Reply]>;
    this.#say(command);
    return (await answered)[0];
  }
}
