/** What befalls a gateway and its plugin in every story of a random life, and how a story waits. */
import type { ScriptedPlugin } from '../support/scripted-plugin.js';
import { type SimulatedGateway, turns } from '../support/simulated-gateway.js';

export abstract class Story {
  abstract gateway: SimulatedGateway;
  plugin: ScriptedPlugin | undefined;

  /** At all that has happened since the last look. */
  protected abstract look(): void;

  protected readonly common = {
    turn: () => turns(1),
    turns: () => turns(),
    drop: () => {
      this.look();
      if (this.plugin?.closed === undefined) this.plugin?.drop();
      this.plugin = undefined;
    },
    congest: () => {
      if (this.plugin !== undefined) this.plugin.room = 1;
    },
    drain: () => {
      if (this.plugin?.closed === undefined) this.plugin?.drain(Infinity);
    },
    'a commit fails': () => this.gateway.memory.failNextCommits(1, 'lost'),
    'a commit fails that is kept': () => this.gateway.memory.failNextCommits(1, 'kept'),
    recover: () => this.gateway.pass(2_000, 1_000),
  };

  /** The process dies in its last commit, and what it does after it reaches nobody. */
  protected async die(fate: 'lost' | 'kept'): Promise<void> {
    this.common.drop();
    this.look();
    this.gateway.memory.failNextCommits(1, fate);
    await turns();
    this.gateway.memory.failNextCommits(0);
  }

  /** Time passes until it has ended: what a failed commit has left is tried again later. */
  protected async inTime<T>(work: Promise<T>): Promise<T> {
    let hasEnded = false;
    void work.finally(() => (hasEnded = true));
    for (await turns(); !hasEnded;) await this.gateway.pass(2_000, 1_000);
    return work;
  }
}
