/** Runs all bots at the same time; `stop` resolves when their last request has ended. */
import type { Bot } from './bot.js';

export class Load {
  #work: Promise<unknown> = Promise.resolve();

  constructor(readonly bots: readonly Bot[]) {}

  start(): void {
    this.#work = Promise.all(this.bots.map((bot) => bot.run()));
  }

  async stop(): Promise<void> {
    for (const bot of this.bots) bot.stop();
    await this.#work;
  }
}
