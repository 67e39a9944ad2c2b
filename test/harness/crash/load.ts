/** The work of all bots at once: begun, and ended so that nothing of it is under way any more. */
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
