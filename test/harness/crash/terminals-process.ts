/** The terminals' process, as the test leads it. */
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Command, Observation, Reply, TerminalPlace } from './observation.js';

export class TerminalFloor {
  readonly #process: ChildProcess;

  constructor(seed: number, places: readonly TerminalPlace[]) {
    this.#process = fork(fileURLToPath(new URL('terminals.program.js', import.meta.url)));
    this.#say({ say: 'open', seed, places });
  }

  go(url: string): void {
    this.#say({ say: 'go', url });
  }

  storm(): void {
    this.#say({ say: 'storm' });
  }

  /** @returns what did not come to rest in time. */
  async calm(): Promise<readonly string[]> {
    const reply = await this.#ask({ say: 'calm' });
    return reply.reply === 'calm' ? reply.unrest : [];
  }

  /** What was seen and said since the last time. */
  async tell(): Promise<readonly Observation[]> {
    const reply = await this.#ask({ say: 'tell' });
    return reply.reply === 'observations' ? reply.observations : [];
  }

  end(): void {
    this.#process.disconnect();
  }

  #say(command: Command): void {
    this.#process.send(command);
  }

  /** One question at a time. */
  async #ask(command: Command): Promise<Reply> {
    const answered = once(this.#process, 'message') as Promise<[Reply]>;
    this.#say(command);
    return (await answered)[0];
  }
}
