/**
 * A `signalbox` command in a process of its own that can be killed at a chosen part of its usual
 * duration, which is that of the last command of the same name.
 */
import { startCommand, type RunningCommand } from '../../support/command.js';
import type { CliResult } from '../../support/in-process.js';

const usualMs = new Map<string, number>();
const firstGuessMs = 400;

export class CliCommand {
  readonly #command: RunningCommand;
  readonly #startedAt = performance.now();
  readonly #name: string;
  readonly ended: Promise<CliResult>;
  hasEnded = false;
  isKilled = false;

  /** `args`: the command's name comes first. */
  constructor(dataDir: string, args: readonly string[], input = '') {
    this.#name = args[0] as string;
    const flags = ['--data-dir', dataDir, '--config', `${dataDir}.config.json`];
    this.#command = startCommand([...args, ...flags], input);
    this.ended = this.#command.ended.then((result) => {
      this.hasEnded = true;
      if (!this.isKilled) usualMs.set(this.#name, performance.now() - this.#startedAt);
      return result;
    });
  }

  /** Milliseconds until this part, 0 to 1, of its usual duration has passed. */
  msUntil(part: number): number {
    const dueMs = part * (usualMs.get(this.#name) ?? firstGuessMs);
    return Math.max(0, dueMs - (performance.now() - this.#startedAt));
  }

  kill(): void {
    if (this.hasEnded) return;
    this.isKilled = true;
    this.#command.process.kill('SIGKILL');
  }

  killAt(part: number): void {
    setTimeout(() => this.kill(), this.msUntil(part));
  }
}
