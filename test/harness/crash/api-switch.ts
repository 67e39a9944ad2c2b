/**
 * The operator's switch of the Public API, closed for a moment under load, and what is known of it. A
 * command that was cut off may or may not have turned it.
 */
import type { Verdict } from '../verdict.js';
import { Errand } from './cli-command.js';
import type { Circumstances } from './refusals.js';
import { getStatus } from './tenant-access.js';

export interface ApiSwitchDeps {
  readonly dataDir: string;
  readonly verdict: Verdict;
  readonly circumstances: Circumstances;
  /** Any valid API key. */
  readonly key: string;
}

export class ApiSwitch {
  #possible: readonly boolean[] = [true];

  constructor(readonly deps: ApiSwitchDeps) {}

  get isSurelyOpen(): boolean {
    return this.#possible.every(Boolean);
  }

  turn(isOpen: boolean): Errand {
    this.#possible = [...new Set([...this.#possible, isOpen])];
    this.deps.circumstances.mayBeClosed = true;
    return new Errand(this.deps.dataDir, ['api', isOpen ? 'enable' : 'disable']);
  }

  turned(isOpen: boolean): void {
    this.#possible = [isOpen];
    this.deps.circumstances.mayBeClosed = !isOpen;
  }

  /** Holds what this gateway does against what is possible. */
  async inspect(url: string, rule: string): Promise<void> {
    const { key, verdict, circumstances } = this.deps;
    const status = await getStatus(url, '/api/v1/terminal-events/sources', key).catch(() => 0);
    // While it drains it refuses everything.
    if (status === 0 || circumstances.isDraining) return;
    const isOpen = status !== 503;
    const holds = this.#possible.includes(isOpen);
    verdict.hold(rule, holds, () => ({ status, possible: this.#possible }));
    this.turned(isOpen);
  }

  /** Before the load begins: without it nothing is accepted. */
  async open(): Promise<void> {
    if (this.isSurelyOpen) return;
    const { code, stderr } = await this.turn(true).ended;
    this.deps.verdict.hold('a command that is left alone succeeds', code === 0, () => stderr);
    this.turned(true);
  }
}
