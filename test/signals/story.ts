/** The acts that all random lives of a gateway and its plugin share, and how a life waits and ends. */
import type { ScriptedPlugin } from '../support/scripted-plugin.js';
import { type SimulatedGateway, turns } from '../support/simulated-gateway.js';

export abstract class Story {
  abstract gateway: SimulatedGateway;
  plugin: ScriptedPlugin | undefined;

  /** Judges all that has happened since the last look. */
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

  /** Kills the process in its next commit: nothing that it does afterwards leaves it. */
  protected async die(fate: 'lost' | 'kept'): Promise<void> {
    this.common.drop();
    this.look();
    this.gateway.memory.failNextCommits(1, fate);
    await turns();
    this.gateway.memory.failNextCommits(0);
  }

  /** Lets time pass until `work` has ended, since a failed commit is retried later. */
  protected async inTime<T>(work: Promise<T>): Promise<T> {
    let hasEnded = false;
    void work.finally(() => (hasEnded = true));
    for (await turns(); !hasEnded;) await this.gateway.pass(2_000, 1_000);
    return work;
  }
}
